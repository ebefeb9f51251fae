//! `--html` and `--reports`: what standard output reports in files, too, in other forms. All are of one rehearsal: none is made again for another form.

use std::fs;
use std::path::PathBuf;

use super::args::RehearseArgs;
use super::html;
use crate::failure::Failure;
use crate::printer::Printer;

/// A form that a rehearsal may have beside its JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A page for a browser.
    Page,
    /// A change request.
    Markdown,
    /// What `-o github` prints.
    Annotations,
}

impl Form {
    fn file(self) -> &'static str {
        match self {
            Self::Page => "report.html",
            Self::Markdown => "report.md",
            Self::Annotations => "annotations.txt",
        }
    }
}

/// The files that one form is asked for in.
fn files(args: &RehearseArgs, form: Form) -> Vec<PathBuf> {
    let named = match form {
        Form::Page => args.html.clone(),
        Form::Markdown | Form::Annotations => None,
    };
    let beside = args.reports.as_ref().map(|folder| folder.join(form.file()));
    named.into_iter().chain(beside).collect()
}

/// Whether a form is asked for.
pub(super) fn is_asked(args: &RehearseArgs, form: Form) -> bool {
    !files(args, form).is_empty()
}

/// Writes a form that was asked for, and says so.
///
/// # Errors
/// Where a file cannot be written.
pub(super) fn write(
    args: &RehearseArgs,
    form: Form,
    text: &str,
    printer: &mut Printer,
) -> Result<(), Failure> {
    if let Some(folder) = &args.reports {
        fs::create_dir_all(folder).map_err(|error| {
            Failure::usage_message(format!("cannot create directory {}: {error}", folder.display()))
                .next("pass a directory that can be written")
        })?;
    }
    for path in files(args, form) {
        match form {
            Form::Page => html::save(&path, text, printer)?,
            Form::Markdown | Form::Annotations => {
                html::write(&path, text)?;
                printer.story(&format!("wrote {}", path.display()));
            }
        }
    }
    Ok(())
}

/// Says which forms there are none of, where all were asked for, and why.
pub(super) fn left_out(forms: &[Form], why: &str, args: &RehearseArgs, printer: &mut Printer) {
    let Some(folder) = &args.reports else { return };
    let names: Vec<&str> = forms.iter().map(|form| form.file()).collect();
    let are = if names.len() == 1 { "is" } else { "are" };
    printer.story(&format!("{} {are} not written to {}: {why}", names.join(" and "), folder.display()));
}

/// Says that there are no other forms, where they were asked for.
pub(super) fn none_of(what: &str, args: &RehearseArgs, printer: &mut Printer) {
    if let Some(folder) = &args.reports {
        printer.story(&format!(
            "{what} has neither page, Markdown nor annotations: nothing is written to {}",
            folder.display()
        ));
    }
}
