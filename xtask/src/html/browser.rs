//! Chromium without a window.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// The program, and where it keeps its profile.
#[derive(Debug)]
pub(super) struct Browser {
    program: &'static str,
    profile: PathBuf,
}

/// Light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Light,
    Dark,
}

/// How a page is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct View {
    pub(super) scheme: Scheme,
    pub(super) width: u32,
}

impl fmt::Display for View {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            Scheme::Light => "light",
            Scheme::Dark => "dark",
        };
        write!(out, "{scheme}, {} wide", self.width)
    }
}

/// What a page is like from within.
#[derive(Debug)]
pub(super) struct Probe {
    pub(super) elements: u64,
    pub(super) texts: u64,
    /// What axe-core objects to.
    pub(super) violations: Vec<String>,
    /// What the page asked for.
    pub(super) requests: Vec<String>,
    /// What else is not as it should be.
    pub(super) wrong: Vec<String>,
}

/// Says when something is painted, which a page that is only read may never be.
const PAINT: &str = r#"new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    if (entry.name === "first-contentful-paint") console.log("painted after " + Math.ceil(entry.startTime));
  }
}).observe({ type: "paint", buffered: true });"#;

const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Runs in the page when it has been loaded, and writes what it finds at the page's end.
const PROBE: &str = r#"
addEventListener("load", () => setTimeout(async () => {
  const out = { violations: [], wrong: [] };
  const walker = document.createTreeWalker(document, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  let elements = 0, texts = 0;
  while (walker.nextNode()) { if (walker.currentNode.nodeType === 1) elements++; else texts++; }
  out.elements = elements; out.texts = texts;
  out.requests = performance.getEntriesByType("resource").map((entry) => entry.name);
  if (document.documentElement.scrollWidth > innerWidth + 1) {
    out.wrong.push("is wider than the window: " + document.documentElement.scrollWidth);
  }
  for (const element of document.querySelectorAll("img, iframe, object, embed, link, base, form")) {
    out.wrong.push("has an element " + element.outerHTML.slice(0, 80));
  }
  for (const element of document.querySelectorAll("*")) {
    for (const attribute of element.attributes) {
      if (/^on|^style$/.test(attribute.name)) out.wrong.push("has an attribute " + attribute.name);
    }
  }
  const first = document.querySelector(".rows li");
  if (first) {
    first.focus();
    const words = first.querySelector("span").getBoundingClientRect();
    if (words.width < 40 || words.height < 10) out.wrong.push("a row that has the focus does not show its words");
    first.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
    const next = first.nextElementSibling || first;
    if (document.activeElement !== next) out.wrong.push("an arrow does not lead to the next row");
    document.activeElement.blur();
  }
  if (globalThis.axe) {
    const result = await axe.run(document, { resultTypes: ["violations"] });
    for (const one of result.violations) {
      out.violations.push(one.id + ": " + one.help + ": " + one.nodes.slice(0, 3).map((node) => node.target.join(" ")).join(", "));
    }
  }
  const pre = document.createElement("pre");
  pre.id = "probe";
  pre.textContent = JSON.stringify(out);
  document.body.append(pre);
}, 300));
"#;

impl Browser {
    pub(super) fn find(folder: &Path) -> Result<Self> {
        let is_there = |program: &&str| Command::new(program).arg("--version").output().is_ok();
        let Some(program) = PROGRAMS.into_iter().find(is_there) else {
            bail!("there is no Chromium: install the package chromium");
        };
        fs::create_dir_all(folder)?;
        Ok(Self { program, profile: folder.join("profile") })
    }

    fn run(&self, arguments: &[String], page: &Path) -> Result<Output> {
        let mut command = Command::new(self.program);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]);
        // Nothing of the browser's own is to be fetched either.
        command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
        command.arg("--host-resolver-rules=MAP * ~NOTFOUND");
        command.arg(format!("--user-data-dir={}", self.profile.display())).args(arguments);
        let output = command.arg(format!("file://{}", page.display())).output();
        let output = output.with_context(|| format!("cannot start {}", self.program))?;
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "{} failed on {}\n{told}", self.program, page.display());
        Ok(output)
    }

    /// What is wrong with a page under its own policy: its script has to run, and nothing may be refused.
    pub(super) fn as_it_is(&self, page: &Path) -> Result<Vec<String>> {
        let output = self.run(&["--dump-dom".to_owned(), "--enable-logging=stderr".to_owned()], page)?;
        let (dom, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let mut wrong = Vec::new();
        for line in
            told.lines().filter(|line| line.contains("CONSOLE") || line.contains("Content Security Policy"))
        {
            wrong.push(format!("the browser says: {line}"));
        }
        if dom.contains("class=\"copy\" hidden") {
            wrong.push("its script did not run".to_owned());
        }
        if dom.contains("class=\"rows") && !dom.contains("tabindex=\"0\"") {
            wrong.push("its rows cannot be reached by keyboard".to_owned());
        }
        let title = dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
        if title.is_none_or(|title| title.is_empty() || title == "broken in") {
            wrong.push(format!("its title is {title:?}"));
        }
        Ok(wrong)
    }

    /// Milliseconds until something of a page is painted, by the clock on the wall: looked at without its policy, so that a script can tell.
    pub(super) fn painted(&self, page: &Path) -> Result<u64> {
        let text = fs::read_to_string(page)?;
        let (head, rest) = without_policy(&text)?;
        let copy = page.with_extension("paint.html");
        fs::write(&copy, format!("{head}<script>{PAINT}</script>{rest}"))?;
        let mut arguments = arguments(VIEW, 900);
        // Where no picture is wanted, nothing need be painted.
        arguments.push(format!("--screenshot={}", page.with_extension("paint.png").display()));
        arguments.push("--enable-logging=stderr".to_owned());
        let output = self.run(&arguments, &copy)?;
        let told = String::from_utf8_lossy(&output.stderr);
        let after = told.split("painted after ").nth(1).context("nothing of the page was painted")?;
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        Ok(digits.parse()?)
    }

    /// Looks at a copy of the page without its policy: whatever it would ask for, it could.
    pub(super) fn probe(&self, page: &Path, view: View, axe: &str) -> Result<Probe> {
        let text = fs::read_to_string(page)?;
        let (head, rest) = without_policy(&text)?;
        let (body, end) = rest.rsplit_once("</body>").context("it has a body")?;
        let copy = page.with_extension("probe.html");
        fs::write(&copy, format!("{head}{body}<script>{axe}</script><script>{PROBE}</script></body>{end}"))?;
        let mut arguments = arguments(view, 900);
        arguments.extend(["--dump-dom".to_owned(), "--virtual-time-budget=30000".to_owned()]);
        let output = self.run(&arguments, &copy)?;
        let dom = String::from_utf8_lossy(&output.stdout);
        let found = dom.rsplit("<pre id=\"probe\">").next().and_then(|rest| rest.split("</pre>").next());
        let found = found.filter(|found| found.starts_with('{'));
        let found = found.with_context(|| format!("{view}: the page did not say what it is like"))?;
        let found =
            found.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\u{a0}").replace("&amp;", "&");
        let found: Value = serde_json::from_str(&found).with_context(|| found.clone())?;
        let number = |name: &str| found[name].as_u64().with_context(|| format!("no {name}"));
        let texts = |name: &str| -> Vec<String> {
            let all = found[name].as_array().cloned().unwrap_or_default();
            all.iter().filter_map(|text| Some(text.as_str()?.to_owned())).collect()
        };
        Ok(Probe {
            elements: number("elements")?,
            texts: number("texts")?,
            violations: texts("violations"),
            requests: texts("requests"),
            wrong: texts("wrong"),
        })
    }

    pub(super) fn picture(&self, page: &Path, view: View, to: &Path) -> Result<()> {
        let mut arguments = arguments(view, 1_600);
        arguments.push(format!("--screenshot={}", to.display()));
        self.run(&arguments, page)?;
        ensure!(fs::metadata(to).is_ok_and(|file| file.len() > 5_000), "{} is no picture", to.display());
        Ok(())
    }

    pub(super) fn print(&self, page: &Path, to: &Path) -> Result<()> {
        self.run(&["--no-pdf-header-footer".to_owned(), format!("--print-to-pdf={}", to.display())], page)?;
        ensure!(fs::read(to).is_ok_and(|file| file.starts_with(b"%PDF")), "{} is no PDF", to.display());
        Ok(())
    }
}

/// How a page is opened that is timed.
const VIEW: View = View { scheme: Scheme::Light, width: 1_280 };

/// What stands before and after a page's policy.
fn without_policy(page: &str) -> Result<(&str, &str)> {
    let (head, rest) =
        page.split_once("<meta http-equiv=\"Content-Security-Policy\"").context("it has a policy")?;
    let (_, rest) = rest.split_once('>').context("its policy ends")?;
    Ok((head, rest))
}

fn arguments(view: View, height: u32) -> Vec<String> {
    let mut arguments = vec![format!("--window-size={},{height}", view.width)];
    match view.scheme {
        Scheme::Light => {}
        Scheme::Dark => arguments.push("--blink-settings=preferredColorScheme=0".to_owned()),
    }
    arguments
}
