//! Pieces of Markdown.

/// Text in which nothing is markup.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '*' | '_' | '`' | '<' | '>' | '|' | '[' | ']' | '\\' | '#') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped.replace('\n', " ")
}

/// What to do, as a block to be pasted from.
pub(crate) fn remedy(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let is_command = ["kubectl ", "aws "].iter().any(|start| text.starts_with(start));
    let language = if is_command { "sh" } else { "text" };
    format!("\n```{language}\n{}\n```\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text_and_commands_are_blocks() {
        assert_eq!(escape("a_b <c> #4\nd"), "a\\_b \\<c\\> \\#4 d");
        assert_eq!(remedy("kubectl get pods\n"), "\n```sh\nkubectl get pods\n```\n");
        assert_eq!(remedy("wait"), "\n```text\nwait\n```\n");
        assert_eq!(remedy(""), "");
    }
}
