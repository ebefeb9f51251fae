//! What a terminal shows of the bytes that a program writes: letters, and the escapes that move the cursor and clear lines.

/// See the module's page.
pub(super) struct Screen {
    columns: usize,
    rows: usize,
    /// Lines that have left at the top.
    gone: Vec<String>,
    lines: Vec<Vec<char>>,
    at: (usize, usize),
    /// Bytes that are not whole yet.
    rest: Vec<u8>,
    /// How often a line that stood there was cleared.
    pub(super) cleared: usize,
}

impl Screen {
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Self {
            columns,
            rows,
            gone: Vec::new(),
            lines: vec![Vec::new(); rows],
            at: (0, 0),
            rest: Vec::new(),
            cleared: 0,
        }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned()).collect()
    }

    pub(super) fn all(&self) -> Vec<String> {
        let mut all = [self.gone.clone(), self.lines()].concat();
        while all.last().is_some_and(String::is_empty) {
            all.pop();
        }
        all
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.rest) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let text = String::from_utf8(self.rest.drain(..whole).collect()).expect("it is whole");
        // An escape that has only begun is left for later.
        let end = match text.rfind('\u{1b}') {
            Some(at) if !text[at + 1..].starts_with('[') && text.len() == at + 1 => at,
            Some(at)
                if text[at..].starts_with("\u{1b}[")
                    && !text[at + 2..].contains(|one: char| one.is_ascii_alphabetic()) =>
            {
                at
            }
            Some(_) | None => text.len(),
        };
        let left = text[end..].to_owned();
        self.rest = [left.as_bytes(), &self.rest].concat();
        let mut letters = text[..end].chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\u{1b}' => {
                    if letters.next() == Some('[') {
                        let mut code = String::new();
                        for one in letters.by_ref() {
                            code.push(one);
                            if one.is_ascii_alphabetic() {
                                break;
                            }
                        }
                        self.escape(&code);
                    }
                }
                '\r' => self.at.1 = 0,
                '\n' => self.down(),
                letter if letter.is_control() => {}
                letter => self.letter(letter),
            }
        }
    }

    fn down(&mut self) {
        self.at.0 += 1;
        if self.at.0 == self.rows {
            self.at.0 -= 1;
            self.gone.push(self.lines.remove(0).into_iter().collect::<String>().trim_end().to_owned());
            self.lines.push(Vec::new());
        }
    }

    fn letter(&mut self, letter: char) {
        if self.at.1 == self.columns {
            self.at.1 = 0;
            self.down();
        }
        let line = &mut self.lines[self.at.0];
        if line.len() <= self.at.1 {
            line.resize(self.at.1 + 1, ' ');
        }
        line[self.at.1] = letter;
        self.at.1 += 1;
    }

    fn escape(&mut self, code: &str) {
        let (number, end) = code.split_at(code.len() - 1);
        let count = number.parse::<usize>().unwrap_or(1).max(1);
        let (row, column) = self.at;
        match end {
            "A" => self.at.0 = row.saturating_sub(count),
            "B" => self.at.0 = (row + count).min(self.rows - 1),
            "C" => self.at.1 = (column + count).min(self.columns - 1),
            "D" => self.at.1 = column.saturating_sub(count),
            "G" => self.at.1 = count - 1,
            "K" => {
                self.cleared += usize::from(!self.lines[row].is_empty());
                match number {
                    "2" => self.lines[row].clear(),
                    "1" => self.lines[row].iter_mut().take(column + 1).for_each(|one| *one = ' '),
                    _ => self.lines[row].truncate(column),
                }
            }
            "J" => {
                self.lines[row].truncate(column);
                self.lines[row + 1..].iter_mut().for_each(Vec::clear);
            }
            // Looks, and modes.
            _ => {}
        }
    }
}

#[test]
fn letters_stand_where_the_cursor_is() {
    let mut screen = Screen::new(6, 3);
    screen.take(b"one\r\ntwo\r\n\x1b[2A\r\x1b[2K");
    screen.take(b"\x1b[1B\r\x1b[2K\x1b[1");
    screen.take(b"A\x1b[32mred\x1b[0m\r\nabcdefgh\r\nx\r\n\xc3");
    screen.take(b"\xa4");
    assert_eq!(screen.all(), ["red", "abcdef", "gh", "x", "ä"]);
    assert_eq!(screen.cleared, 2);
}
