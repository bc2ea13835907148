//! Characters that nobody sees, in which a foreign text can hide orders or steer a terminal. One list for all who show such
//! texts, to people or to models.

/// Controls, marks that turn the direction of writing, letters of no width, tags.
///
/// The two joiners (U+200C, U+200D) are not among them: Persian and families of emoji are written with them. Line ends and
/// tabs are controls too; who keeps them says so.
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_or_hides_is_invisible_and_what_is_written_is_not() {
        for hidden in ['\u{1b}', '\n', '\u{85}', '\u{200b}', '\u{202e}', '\u{2066}', '\u{feff}', '\u{e0041}']
        {
            assert!(is_invisible(hidden), "{hidden:?}");
        }
        for seen in ['a', ' ', '中', 'é', '🙂', '\u{200c}', '\u{200d}', '\u{fe0f}', '\u{3000}'] {
            assert!(!is_invisible(seen), "{seen:?}");
        }
    }
}
