//! What a terminal shows, read from text with escapes for colours (SGR).

/// A colour of the terminal: one of 256, or any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colour {
    Indexed(u8),
    True(u8, u8, u8),
}

/// How letters look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) front: Option<Colour>,
    pub(super) back: Option<Colour>,
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) reversed: bool,
}

/// Letters of one look, from a column on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) column: usize,
    pub(super) text: String,
    pub(super) style: Style,
}

/// A line of the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row(pub(super) Vec<Run>);

impl Row {
    pub(super) fn text(&self) -> String {
        self.0.iter().map(|run| run.text.as_str()).collect()
    }
}

/// The rows of a screen.
pub(super) fn read(shown: &str) -> Vec<Row> {
    let mut style = Style::default();
    shown.lines().map(|line| row(line, &mut style)).collect()
}

fn row(line: &str, style: &mut Style) -> Row {
    let (mut runs, mut column): (Vec<Run>, usize) = (Vec::new(), 0);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            // `ESC [ … m` is a look; other escapes do not come out of a captured pane, but charsets (`ESC ( B`) do.
            match letters.next() {
                Some('[') => {
                    let code: String = letters.by_ref().take_while(|letter| *letter != 'm').collect();
                    change(style, &code);
                }
                Some('(') => drop(letters.next()),
                Some(_) | None => {}
            }
            continue;
        }
        match runs.last_mut().filter(|run| run.style == *style) {
            Some(run) => run.text.push(letter),
            None => runs.push(Run { column, text: letter.to_string(), style: *style }),
        }
        column += 1;
    }
    Row(runs)
}

fn change(style: &mut Style, code: &str) {
    let mut numbers = code.split([';', ':']).map(|number| number.parse::<u16>().unwrap_or(0));
    while let Some(number) = numbers.next() {
        let low = |from: u16| Some(Colour::Indexed(u8::try_from(number - from).unwrap_or(0)));
        match number {
            0 => *style = Style::default(),
            1 => style.bold = true,
            2 => style.dim = true,
            7 => style.reversed = true,
            22 => (style.bold, style.dim) = (false, false),
            27 => style.reversed = false,
            30..=37 => style.front = low(30),
            90..=97 => style.front = low(82),
            40..=47 => style.back = low(40),
            100..=107 => style.back = low(92),
            38 => style.front = wide(&mut numbers),
            48 => style.back = wide(&mut numbers),
            39 => style.front = None,
            49 => style.back = None,
            _ => {}
        }
    }
}

fn wide(numbers: &mut impl Iterator<Item = u16>) -> Option<Colour> {
    let mut next = || u8::try_from(numbers.next()?).ok();
    match next()? {
        5 => Some(Colour::Indexed(next()?)),
        2 => Some(Colour::True(next()?, next()?, next()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_begin_and_end() {
        let rows = read("a\u{1b}[1;38;5;33mbc\u{1b}[0m d\n\u{1b}[48;2;1;2;3me");
        assert_eq!(rows[0].text(), "abc d");
        let look = rows[0].0[1].style;
        assert_eq!((rows[0].0[1].column, look.front, look.bold), (1, Some(Colour::Indexed(33)), true));
        assert_eq!(rows[0].0[2].style, Style::default());
        assert_eq!(rows[1].0[0].style.back, Some(Colour::True(1, 2, 3)));
    }
}
