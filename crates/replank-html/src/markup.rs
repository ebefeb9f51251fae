//! Markup that grows downwards. Only text that is part of the program is written as it is; all else is escaped.

/// A piece of a page.
#[derive(Debug, Default)]
pub(crate) struct Markup(String);

/// Attributes of an element. The values are escaped.
pub(crate) type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Markup {
    /// Markup as it stands in the program.
    pub(crate) fn raw(&mut self, markup: &'static str) {
        self.0.push_str(markup);
    }

    /// Text.
    pub(crate) fn text(&mut self, text: &str) {
        escape(text, &mut self.0);
    }

    /// The begin of an element.
    pub(crate) fn open(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.0.push('<');
        self.0.push_str(tag);
        for (name, value) in attributes {
            self.0.push(' ');
            self.0.push_str(name);
            self.0.push_str("=\"");
            escape(value, &mut self.0);
            self.0.push('"');
        }
        self.0.push('>');
    }

    /// The end of an element.
    pub(crate) fn close(&mut self, tag: &'static str) {
        self.0.push_str("</");
        self.0.push_str(tag);
        self.0.push('>');
    }

    /// An element with text in it.
    pub(crate) fn leaf(&mut self, tag: &'static str, attributes: Attributes<'_>, text: &str) {
        self.open(tag, attributes);
        self.text(text);
        self.close(tag);
    }

    /// Other markup.
    pub(crate) fn add(&mut self, other: &Self) {
        self.0.push_str(&other.0);
    }

    /// The text of it all.
    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

/// Text so that no part of it is read as markup, neither between tags nor in a quoted attribute. Control characters, which HTML does not allow, become U+FFFD.
fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            // Marks that turn the direction of text could show a command other than the one that is copied.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            _ if character.is_control() => out.push('\u{fffd}'),
            _ => out.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_values_are_never_markup() {
        let mut markup = Markup::default();
        markup.leaf("p", &[("title", "\" onload='x'")], "</p><script>&\u{1b}[31m");
        assert_eq!(
            markup.into_text(),
            "<p title=\"&quot; onload=&#39;x&#39;\">&lt;/p&gt;&lt;script&gt;&amp;\u{fffd}[31m</p>"
        );
    }
}
