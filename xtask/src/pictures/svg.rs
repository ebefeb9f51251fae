//! Frames as one SVG that moves: each row is drawn once for each time that it stays as it is. Without animation the last frame is seen.

use std::collections::BTreeMap;
use std::time::Duration;

use super::screen::{Colour, Row, Run, Style};
use super::tape::Frame;

/// A letter's width and a row's height, in pixels.
const WIDTH: f64 = 8.4;
const HEIGHT: f64 = 18.0;
/// Around the text; above it is the window's bar.
const MARGIN: f64 = 16.0;
/// From a row's top to the line that letters stand on.
const BASE: f64 = 13.0;
const BAR: f64 = 34.0;
/// How long the last frame stays.
const END: Duration = Duration::from_secs(5);
/// Front and back of the terminal: a window of its own, on whatever page.
const FRONT: &str = "#d8dee9";
const BACK: &str = "#161b22";
const COLOURS: [&str; 16] = [
    BACK, "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#d8dee9", "#6e7681", "#ffa198",
    "#a2f2a8", "#f2cc60", "#a5d6ff", "#e2c5ff", "#a5f0f4", "#ffffff",
];

/// Draws them.
pub(super) fn draw(frames: &[Frame], columns: usize, rows: usize, title: &str) -> String {
    let (width, height) = (columns as f64 * WIDTH + 2.0 * MARGIN, rows as f64 * HEIGHT + MARGIN + BAR);
    let whole = frames.last().map_or(Duration::ZERO, |last| last.at) + END;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\n\
         <title>{}</title>\n\
         <style>text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:{FRONT}}}</style>\n\
         <rect width=\"{width:.0}\" height=\"{height:.0}\" rx=\"9\" fill=\"{BACK}\" stroke=\"#484f58\"/>\n",
        escape(title)
    );
    for (place, colour) in ["#ff5f56", "#ffbd2e", "#27c93f"].iter().enumerate() {
        svg += &format!("<circle cx=\"{}\" cy=\"17\" r=\"6\" fill=\"{colour}\"/>\n", 20 + 20 * place);
    }
    let mut looks = Looks::default();
    let mut text = |number: usize, row: &Row, spans: &[(Duration, Duration)]| {
        let y = BAR + BASE + number as f64 * HEIGHT;
        let parts: String = row.0.iter().map(|run| part(run, &mut looks)).collect();
        let (still, moves) = shown(spans, whole);
        format!("<g transform=\"translate({MARGIN} {y:.0})\"{still}>{moves}{parts}</g>\n")
    };
    let drawn: String =
        lasting(frames, whole).iter().map(|((number, _), (row, spans))| text(*number, row, spans)).collect();
    svg + &looks.sheet() + &drawn + "</svg>\n"
}

/// The looks of letters, each a class of the style sheet.
#[derive(Default)]
struct Looks(BTreeMap<String, usize>);

impl Looks {
    /// The class of a look; nothing for that of all letters.
    fn class(&mut self, look: String) -> String {
        if look.is_empty() {
            return look;
        }
        let next = self.0.len();
        let number = *self.0.entry(look).or_insert(next);
        format!(" class=\"l{number}\"")
    }

    fn sheet(&self) -> String {
        let rules: String = self.0.iter().map(|(look, number)| format!(".l{number}{{{look}}}")).collect();
        format!("<style>{rules}</style>\n")
    }
}

type Spans = Vec<(Duration, Duration)>;

/// Each row that is not blank, by its place and text, and when it is there.
fn lasting(frames: &[Frame], whole: Duration) -> BTreeMap<(usize, String), (Row, Spans)> {
    let mut all: BTreeMap<(usize, String), (Row, Spans)> = BTreeMap::new();
    for (place, frame) in frames.iter().enumerate() {
        let until = frames.get(place + 1).map_or(whole, |next| next.at);
        for (number, row) in frame.rows.iter().enumerate() {
            if row
                .0
                .iter()
                .all(|run| run.text.trim().is_empty() && run.style.back.is_none() && !run.style.reversed)
            {
                continue;
            }
            let (_, spans) =
                all.entry((number, format!("{row:?}"))).or_insert_with(|| (row.clone(), Vec::new()));
            match spans.last_mut().filter(|(_, end)| *end == frame.at) {
                Some((_, end)) => *end = until,
                None => spans.push((frame.at, until)),
            }
        }
    }
    all
}

/// When a row is seen, as an animation of its opacity; without animation, whether it is there at the end.
fn shown(spans: &[(Duration, Duration)], whole: Duration) -> (&'static str, String) {
    let share = |at: Duration| format!("{:.4}", at.as_secs_f64() / whole.as_secs_f64());
    let (mut times, mut values) = (vec!["0".to_owned()], vec!["0"]);
    for (from, until) in spans {
        if from.is_zero() {
            values[0] = "1";
        } else {
            times.push(share(*from));
            values.push("1");
        }
        if *until < whole {
            times.push(share(*until));
            values.push("0");
        }
    }
    let still = if values.last() == Some(&"1") { "" } else { " opacity=\"0\"" };
    if times.len() == 1 {
        return (still, String::new());
    }
    let moves = format!(
        "<animate attributeName=\"opacity\" dur=\"{:.1}s\" repeatCount=\"indefinite\" calcMode=\"discrete\" keyTimes=\"{}\" values=\"{}\"/>",
        whole.as_secs_f64(),
        times.join(";"),
        values.join(";")
    );
    (still, moves)
}

fn part(run: &Run, looks: &mut Looks) -> String {
    let Style { front, back, bold, dim, reversed } = run.style;
    let (front, back) = (front.map(colour), back.map(colour));
    let (front, back) = if reversed {
        (Some(back.unwrap_or_else(|| BACK.to_owned())), Some(front.unwrap_or_else(|| FRONT.to_owned())))
    } else {
        (front, back)
    };
    let (x, length) = (run.column as f64 * WIDTH, run.text.chars().count() as f64 * WIDTH);
    let ground = back.filter(|back| back != BACK).map_or_else(String::new, |back| {
        format!(
            "<rect x=\"{x:.1}\" y=\"-{BASE}\" width=\"{length:.1}\" height=\"{HEIGHT}\" fill=\"{back}\"/>"
        )
    });
    let mut look = front.map_or_else(String::new, |front| format!("fill:{front};"));
    look += if bold { "font-weight:bold;" } else { "" };
    look += if dim { "opacity:.6;" } else { "" };
    let class = looks.class(look);
    let letters = words(&run.text).into_iter().map(|(column, word)| {
        let (x, count) = ((run.column + column) as f64 * WIDTH, word.chars().count());
        // A font of another width is stretched to the columns.
        let width =
            if count > 3 { format!(" textLength=\"{:.1}\"", count as f64 * WIDTH) } else { String::new() };
        format!("<text x=\"{x:.1}\"{width}{class}>{}</text>", escape(word))
    });
    ground + &letters.collect::<String>()
}

/// What stands between gaps of two blanks and more, with its column: columns stay where they are in every font.
fn words(text: &str) -> Vec<(usize, &str)> {
    let (mut words, mut column) = (Vec::new(), 0);
    for word in text.split("  ") {
        let blanks = word.chars().take_while(|one| *one == ' ').count();
        if !word.trim().is_empty() {
            words.push((column + blanks, word.trim()));
        }
        column += word.chars().count() + 2;
    }
    words
}

fn colour(colour: Colour) -> String {
    match colour {
        Colour::True(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
        Colour::Indexed(number @ 0..=15) => COLOURS[usize::from(number)].to_owned(),
        Colour::Indexed(number @ 16..=231) => {
            let level = |place: u8| [0u8, 95, 135, 175, 215, 255][usize::from(place)];
            let cube = number - 16;
            format!("#{:02x}{:02x}{:02x}", level(cube / 36), level(cube / 6 % 6), level(cube % 6))
        }
        Colour::Indexed(number) => {
            let grey = 8 + (number - 232) * 10;
            format!("#{grey:02x}{grey:02x}{grey:02x}")
        }
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_no_letters() {
        assert_eq!(words("NAME   STATUS  a b "), [(0, "NAME"), (7, "STATUS"), (15, "a b")]);
        assert_eq!(words("    x"), [(4, "x")]);
    }
}
