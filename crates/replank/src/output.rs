//! The words of `-o`: each is written down once, with what it means, and each command has those that it can print.

use clap::ValueEnum;
use clap::builder::PossibleValue;

/// A word.
enum Word {
    Text,
    Wide,
    Name,
    Json,
    Csv,
    Markdown,
    Sarif,
    Github,
    Cloudformation,
    Terraform,
}

impl Word {
    /// As it is written, and what the help says of it. Words of older versions are taken, and not shown.
    fn shown(self) -> PossibleValue {
        let (word, help) = match self {
            Self::Text => ("text", "Text for people"),
            Self::Wide => ("wide", "Text with more columns"),
            Self::Name => ("name", "Names alone, one on each line"),
            Self::Json => ("json", "JSON for programs; docs/schemas has its schema"),
            Self::Csv => ("csv", "CSV for spreadsheets"),
            Self::Markdown => ("markdown", "Markdown for a ticket or a pull request"),
            Self::Sarif => ("sarif", "SARIF 2.1.0 for code scanning"),
            Self::Github => ("github", "Annotations of files and lines in the log of a GitHub workflow"),
            Self::Cloudformation => ("cloudformation", "A template of CloudFormation, in JSON"),
            Self::Terraform => ("terraform", "Resources of Terraform"),
        };
        let value = PossibleValue::new(word).help(help);
        match word {
            "text" => value.alias("table"),
            _ => value,
        }
    }
}

/// Declares what a command can print.
macro_rules! formats {
    ($( $(#[$doc:meta])* $name:ident: $($word:ident)+; )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $( $word ),+ }

        impl ValueEnum for $name {
            fn value_variants<'a>() -> &'a [Self] {
                &[ $( Self::$word ),+ ]
            }

            fn to_possible_value(&self) -> Option<PossibleValue> {
                Some(match self { $( Self::$word => Word::$word.shown() ),+ })
            }
        }
    )* };
}

formats! {
    /// Of an answer.
    AnswerFormat: Text Json;

    /// Of what happens: text is a table on a terminal, elsewhere lines as kubectl prints them; json is one object per line and event.
    EventsFormat: Text Json;

    /// Of what is handed on to other people, too.
    DocumentFormat: Text Json Markdown;

    /// Of a rehearsal.
    RehearseFormat: Text Json Markdown Github;

    /// Of findings in files and clusters.
    CheckFormat: Text Json Sarif Markdown Github;

    /// Of uses of API versions.
    ScanFormat: Text Json Csv Markdown Sarif Github;

    /// Of figures over time.
    LoadFormat: Text Csv Json;

    /// Of places on nodes.
    PlaceFormat: Text Wide Json Name;

    /// Of what a cloud needs.
    SetupFormat: Cloudformation Terraform;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a format, as its help shows them.
    fn words<F: ValueEnum>() -> Vec<String> {
        let values = F::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        values.map(|value| value.get_name().to_owned()).collect()
    }

    #[test]
    fn the_words_are_the_same_everywhere_and_old_ones_are_taken() {
        assert_eq!(words::<AnswerFormat>(), ["text", "json"]);
        assert_eq!(words::<CheckFormat>(), ["text", "json", "sarif", "markdown", "github"]);
        assert_eq!(words::<ScanFormat>(), ["text", "json", "csv", "markdown", "sarif", "github"]);
        assert_eq!(ScanFormat::from_str("table", false), Ok(ScanFormat::Text));
        assert_eq!(LoadFormat::from_str("table", false), Ok(LoadFormat::Text));
        assert!(AnswerFormat::from_str("Text", false).is_err());
    }
}
