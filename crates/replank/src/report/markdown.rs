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

/// What a line of a remedy is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    /// To be pasted into a shell.
    Command,
    /// Stands between alternatives: `or:`.
    Or,
    /// Words, or YAML.
    Text,
}

fn line_of(line: &str) -> Line {
    match line {
        command if ["kubectl ", "aws ", "replank "].iter().any(|start| command.starts_with(start)) => {
            Line::Command
        }
        or if or == "or:" || (or.starts_with("or, ") && or.ends_with(':')) => Line::Or,
        _ => Line::Text,
    }
}

/// What to do: commands as blocks to be pasted whole, each alternative as its own, and words beside them.
pub(crate) fn remedy(text: &str) -> String {
    let mut blocks: Vec<(Line, Vec<&str>)> = Vec::new();
    for line in text.trim_end().lines() {
        let is_below = blocks.last().is_some_and(|(last, _)| *last == Line::Command);
        // A comment goes with the command above it.
        let sort = if is_below && line.starts_with("# ") { Line::Command } else { line_of(line) };
        match blocks.last_mut() {
            Some((last, lines)) if *last == sort => lines.push(line),
            Some(_) | None => blocks.push((sort, vec![line])),
        }
    }
    let block = |(sort, lines): (Line, Vec<&str>)| match sort {
        Line::Command => format!("\n```sh\n{}\n```\n", lines.join("\n")),
        Line::Or => format!("\n{}\n", escape(&lines.join(" "))),
        Line::Text => format!("\n```text\n{}\n```\n", lines.join("\n")),
    };
    blocks.into_iter().map(block).collect()
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
        // A block is pasted whole: what is meant as one of two must not stand in it.
        assert_eq!(
            remedy("either way:\nkubectl a\nkubectl b\nor:\nkubectl c\n# no more"),
            "\n```text\neither way:\n```\n\n```sh\nkubectl a\nkubectl b\n```\n\nor:\n\n```sh\nkubectl c\n# no more\n```\n"
        );
    }
}
