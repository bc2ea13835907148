//! Enums whose variants have names: in options, in the store and on the wire.

use toolhub_text::message::Lang;

/// An enum with the name of each variant, and the way back.
#[macro_export]
macro_rules! named {
    ($(#[$outer:meta])* pub enum $name:ident { $($(#[$inner:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$outer])*
        pub enum $name { $($(#[$inner])* $variant,)+ }

        impl $name {
            pub const ALL: [$name; [$($word),+].len()] = [$($name::$variant),+];

            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }
        }

        impl $crate::Named for $name {
            const NAMES: &'static [&'static str] = &[$($word),+];

            fn named(name: &str) -> Option<Self> {
                $name::parse(name)
            }
        }
    };
}

/// What [`named!`] makes.
pub trait Named: Sized {
    const NAMES: &'static [&'static str];

    fn named(name: &str) -> Option<Self>;
}

/// It lives below this room.
impl Named for Lang {
    const NAMES: &'static [&'static str] = &["en", "zh"];

    fn named(name: &str) -> Option<Self> {
        [Lang::En, Lang::Zh].into_iter().find(|lang| lang.name() == name)
    }
}
