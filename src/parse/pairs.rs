//! Where two bytes may begin a marker: 32 places at once, because most text has none.
//!
//! A byte is looked up by its low and by its high half, which a processor does for 32 of them in one instruction. Each of
//! eight bits stands for one first byte and bytes that may come behind it.

/// So many bits are there.
const RULES: usize = 8;
/// A table for each half of a byte, twice in a row as the instruction wants it.
type Halves = [[u8; 32]; 2];

#[derive(Default)]
pub(super) struct Pairs(Option<Box<Tables>>);

#[derive(Default)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "other processors look at single bytes"))]
struct Tables {
    first: Halves,
    second: Halves,
}

impl Pairs {
    /// `follows` tells whether the second byte may stand behind the first. With too many first bytes, nothing is skipped.
    pub fn new(follows: impl Fn(u8, u8) -> bool) -> Self {
        let mut rules: Vec<(u8, Vec<u8>)> = (0..=255)
            .map(|first| (first, (0..=255).filter(|second| follows(first, *second)).collect()))
            .filter(|(_, seconds): &(u8, Vec<u8>)| !seconds.is_empty())
            .collect();
        if rules.len() > RULES {
            return Pairs(None);
        }
        // A bit that is left makes one of the others more exact.
        while rules.len() < RULES {
            let gains = rules.iter().enumerate().map(|(at, (_, seconds))| (at, parted(seconds)));
            let Some((at, (_, low, high))) =
                gains.max_by_key(|(_, (gain, ..))| *gain).filter(|(_, (gain, ..))| *gain > 0)
            else {
                break;
            };
            rules[at].1 = low;
            rules.push((rules[at].0, high));
        }
        let mut tables = Tables::default();
        for (bit, (first, seconds)) in rules.iter().enumerate() {
            add(&mut tables.first, *first, 1 << bit);
            seconds.iter().for_each(|second| add(&mut tables.second, *second, 1 << bit));
        }
        Pairs(Some(Box::new(tables)))
    }

    /// So many bytes from the start begin no marker.
    pub fn dull(&self, bytes: &[u8]) -> usize {
        #[cfg(target_arch = "x86_64")]
        if let Some(tables) = &self.0
            && bytes.len() > 32
            && is_x86_feature_detected!("avx2")
        {
            // SAFETY: the processor has what the function is compiled for; the line above asks it.
            return unsafe { avx2::skip(tables, bytes) };
        }
        0
    }
}

fn add(halves: &mut Halves, byte: u8, bit: u8) {
    let (low, high) = (usize::from(byte & 15), usize::from(byte >> 4));
    for (table, half) in halves.iter_mut().zip([low, high]) {
        table[half] |= bit;
        table[half + 16] |= bit;
    }
}

/// The bytes below the letters and the others, and how many fewer bytes are let through when they have a bit each.
fn parted(seconds: &[u8]) -> (usize, Vec<u8>, Vec<u8>) {
    let let_through = |bytes: &[u8]| {
        let count =
            |half: fn(u8) -> u8| bytes.iter().fold(0_u16, |all, byte| all | 1 << half(*byte)).count_ones();
        (count(|byte| byte & 15) * count(|byte| byte >> 4)) as usize
    };
    let (low, high): (Vec<u8>, Vec<u8>) = seconds.iter().partition(|byte| **byte < b'@');
    (let_through(seconds) - let_through(&low) - let_through(&high), low, high)
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Halves, Tables};
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx2")]
    pub fn skip(tables: &Tables, bytes: &[u8]) -> usize {
        let (firsts, _) = bytes.as_chunks::<32>();
        let (seconds, _) = bytes[1..].as_chunks::<32>();
        let (first, second) = (halves(&tables.first), halves(&tables.second));
        let mut dull = 0;
        for (here, next) in firsts.iter().zip(seconds) {
            let bits = _mm256_and_si256(looked_up(first, load(here)), looked_up(second, load(next)));
            let none = _mm256_movemask_epi8(_mm256_cmpeq_epi8(bits, _mm256_setzero_si256()));
            if none != -1 {
                return dull + none.trailing_ones() as usize;
            }
            dull += 32;
        }
        dull
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn halves(tables: &Halves) -> [__m256i; 2] {
        [load(&tables[0]), load(&tables[1])]
    }

    /// The bits that both halves of each byte have.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn looked_up(tables: [__m256i; 2], bytes: __m256i) -> __m256i {
        let half = _mm256_set1_epi8(15);
        let low = _mm256_shuffle_epi8(tables[0], _mm256_and_si256(bytes, half));
        let high = _mm256_shuffle_epi8(tables[1], _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), half));
        _mm256_and_si256(low, high)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(bytes: &[u8; 32]) -> __m256i {
        // SAFETY: the reference is to 32 bytes that can be read, which need no alignment here, and any bytes are a value.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn follows(first: u8, second: u8) -> bool {
        matches!((first, second), (b'<', b't' | b'|' | 0xef) | (b'f', b'u') | (b'[', b'{' | b'\n'))
    }

    proptest! {
        /// Whatever the processor can do.
        #[test]
        fn no_pair_is_stepped_over(
            before in 0..100_usize,
            bytes in prop::collection::vec(prop::sample::select(&b"<[fu|t0 \n{\"\xef"[..]), 0..200),
        ) {
            let text = [vec![b'x'; before], bytes].concat();
            let dull = Pairs::new(follows).dull(&text);
            prop_assert!(text[..text.len().min(dull + 1)].windows(2).all(|pair| !follows(pair[0], pair[1])));
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn what_begins_nothing_is_stepped_over() {
        let text = "It rained all day (a < b, c[0]), and nobody knew why. For fun. ".repeat(10);
        let place = text.find("fu").filter(|_| is_x86_feature_detected!("avx2")).unwrap_or_default();
        assert_eq!(Pairs::new(follows).dull(text.as_bytes()), place);
    }
}
