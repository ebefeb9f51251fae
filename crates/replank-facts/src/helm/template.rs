//! As much of rendering a template as proves which values a member of an object comes from: its lines, and the conditions about them.

use serde_json::Value;

use super::guard;

/// A line of a template that is not only an action.
pub(super) struct Line<'t> {
    /// Number of the line, from 0.
    pub(super) number: usize,
    /// The members that it stands under, and its own: `["spec", "maxUnavailable"]`.
    pub(super) path: Vec<&'t str>,
    /// What stands behind the colon.
    pub(super) text: &'t str,
    /// Whether it is rendered; `None` where a condition cannot be judged.
    pub(super) is_rendered: Option<bool>,
}

/// A block that is open: the branch that holds, if that is known.
struct Block {
    /// Whether one of the branches before this one held.
    was_taken: Option<bool>,
    /// Whether this one does.
    holds: Option<bool>,
    /// Whether it was opened before the object begins, which is there.
    is_around: bool,
}

/// The lines of a template that makes one object, which is rendered with these values. `None` where it is of a form that is not understood.
pub(super) fn lines<'t>(template: &'t str, values: &Value) -> Option<Vec<Line<'t>>> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut lines = Vec::new();
    let mut above: Vec<(usize, &str)> = Vec::new();
    let mut has_kind = false;
    for (number, line) in template.lines().enumerate() {
        let whole = line.trim();
        let is_action = whole.starts_with("{{") && whole.ends_with("}}") && whole.matches("{{").count() == 1;
        if whole.matches("{{").count() != whole.matches("}}").count() {
            return None;
        }
        if is_action {
            act(inner(whole), values, &mut blocks, !has_kind)?;
            continue;
        }
        if whole.split("{{").skip(1).any(is_block) {
            return None;
        }
        let Some((key, text)) = whole.split_once(':').filter(|_| !whole.starts_with(['#', '-'])) else {
            continue;
        };
        has_kind |= key == "kind" && !line.starts_with(' ');
        let indent = line.len() - line.trim_start().len();
        above.retain(|(of, _)| *of < indent);
        let path = above.iter().map(|(_, key)| *key).chain([key]).collect();
        above.push((indent, key));
        let is_rendered =
            blocks.iter().try_fold(true, |all, block| block.rendered().map(|holds| all && holds));
        lines.push(Line { number, path, text: text.trim(), is_rendered });
    }
    (blocks.is_empty() && has_kind).then_some(lines)
}

/// Whether an action opens, changes or ends a block. Blocks within a line are not understood.
fn is_block(action: &str) -> bool {
    let word = action.trim_start_matches('-').split([' ', '}', '-']).find(|word| !word.is_empty());
    matches!(word, Some("if" | "else" | "end" | "range" | "with" | "define" | "block"))
}

impl Block {
    /// What is around an object that is there holds.
    fn rendered(&self) -> Option<bool> {
        if self.is_around { Some(true) } else { self.holds }
    }
}

/// What stands between the braces.
pub(super) fn inner(action: &str) -> &str {
    let inner = action.trim_start_matches("{{").trim_end_matches("}}");
    inner.trim_start_matches('-').trim_end_matches('-').trim()
}

/// An action that stands in a line of its own: what it opens, changes and ends.
fn act(action: &str, values: &Value, blocks: &mut Vec<Block>, is_around: bool) -> Option<()> {
    let (word, rest) = action.split_once(' ').unwrap_or((action, ""));
    match word {
        "if" => {
            let holds = guard::holds(rest, values);
            blocks.push(Block { was_taken: holds, holds, is_around });
        }
        // The dot is another one within: nothing of it is understood.
        "range" | "with" | "define" | "block" => {
            blocks.push(Block { was_taken: None, holds: None, is_around: false });
        }
        "else" => {
            let block = blocks.last_mut()?;
            let own = match rest.strip_prefix("if ") {
                Some(condition) => guard::holds(condition, values),
                None => Some(true),
            };
            let before = block.was_taken;
            block.holds = before.zip(own).map(|(before, own)| !before && own);
            block.was_taken = before.zip(own).map(|(before, own)| before || own);
            // Which of several branches made the object is not asked.
            if block.is_around {
                return None;
            }
        }
        "end" => {
            blocks.pop()?;
        }
        _ => {}
    }
    Some(())
}
