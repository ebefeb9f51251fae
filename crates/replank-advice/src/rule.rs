//! How the rules of a check are listed.

/// Defines the rules of a check: an enum, all of it, ids and titles.
macro_rules! rules {
    ($( $variant:ident = $id:literal, $title:literal; )*) => {
        /// The rules. Their ids are stable: scripts and people refer to them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule { $( #[doc = concat!("`", $id, "`: ", $title)] $variant, )* }

        impl Rule {
            /// All rules.
            pub const ALL: &'static [Rule] = &[ $( Rule::$variant ),* ];

            /// The stable id.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self { $( Self::$variant => $id ),* }
            }

            /// What the rule is about, in a sentence.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $( Self::$variant => $title ),* }
            }
        }

        impl std::fmt::Display for Rule {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.id())
            }
        }
    };
}
pub(crate) use rules;
