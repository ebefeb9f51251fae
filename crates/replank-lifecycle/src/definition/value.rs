//! Whether a value is of a schema, as the API server asks of defaults (`pkg/apiserver/validation`, kube-openapi's `validate`).

use crate::tree::Plain;

use super::props::{Props, SchemaOrBool};

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fits {
    Yes,
    No,
    /// A pattern or a format has to be matched, which nobody here does.
    Unknown,
}

impl Fits {
    fn of(is_so: bool) -> Self {
        if is_so { Self::Yes } else { Self::No }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Yes, Self::Yes) => Self::Yes,
        }
    }

    fn all(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self::Yes, Self::and)
    }
}

/// Formats that say nothing of what text looks like, and those of numbers.
const FREE_FORMATS: [&str; 7] = ["", "int32", "int64", "float", "double", "password", "int"];

/// Whether a value is of a schema.
pub(super) fn fits(value: &Plain<'_>, of: &Props<'_>) -> Fits {
    if value.is_null() && of.nullable {
        return Fits::Yes;
    }
    Fits::of(is_of_type(value, of))
        .and(Fits::of(is_one_of(value, of)))
        .and(scalar(value, of))
        .and(list(value, of))
        .and(object(value, of))
        .and(logic(value, of))
}

fn is_of_type(value: &Plain<'_>, of: &Props<'_>) -> bool {
    // Where there is a format, texts and lists pass for each type but those of numbers (kube-openapi, `typeValidator`).
    let is_text_or_list = value.is_text() || value.as_list().is_some();
    if is_text_or_list && !of.format.is_empty() && !matches!(of.of, "number" | "integer") {
        return true;
    }
    let is_integer = || value.as_f64().is_some_and(|number| number.fract() == 0.0);
    match of.of {
        "string" => value.is_text(),
        "number" => value.as_number().is_some(),
        "integer" => is_integer(),
        "boolean" => value.as_bool().is_some(),
        "array" => value.as_list().is_some(),
        "object" => value.is_map(),
        other => other.is_empty(),
    }
}

fn is_one_of(value: &Plain<'_>, of: &Props<'_>) -> bool {
    let values = of.one_of_values.unwrap_or_default();
    values.is_empty() || values.iter().any(|one| one == value || is_converted(value, one))
}

/// A number is brought to the type of what it may be before the two are compared, as Go converts it (kube-openapi, `Enum`): a
/// fraction to an integer without it, an integer to the character of that number.
fn is_converted(value: &Plain<'_>, to: &Plain<'_>) -> bool {
    let (Plain::Number(number), Some(float)) = (value, value.as_f64()) else { return false };
    match to {
        Plain::Number(to) if to.is_f64() => to.as_f64() == Some(float),
        Plain::Number(to) => to.as_f64() == Some(float.trunc()),
        Plain::Text(to) => {
            let code = number
                .as_i64()
                .map(|code| u32::try_from(code).ok().and_then(char::from_u32).unwrap_or('\u{fffd}'));
            code.is_some_and(|code| to.chars().eq([code]))
        }
        Plain::Null | Plain::Bool(_) | Plain::List(_) | Plain::Map(_) => false,
    }
}

/// Whether a number can be one of the type and format (kube-openapi, `IsValueValidAgainstRange`). It is asked of a bound like of a value: no integer is
/// of a type whose maximum is 0.5.
fn is_in_range(number: f64, of: &Props<'_>) -> bool {
    const INT64_END: f64 = 9_223_372_036_854_775_808.0;
    match (of.of, of.format) {
        ("integer", "int32") => {
            number.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number)
        }
        // The greatest integer is not told from the one after it here.
        ("integer", _) => number.fract() == 0.0 && (-INT64_END..=INT64_END).contains(&number),
        ("number", "float") => number.abs() <= f64::from(f32::MAX),
        _ => true,
    }
}

fn scalar(value: &Plain<'_>, of: &Props<'_>) -> Fits {
    if let Some(number) = value.as_f64() {
        let bounds = [of.multiple_of, of.minimum, of.maximum];
        let are_of_type =
            is_in_range(number, of) && bounds.into_iter().flatten().all(|it| is_in_range(it, of));
        // An integer is compared with a bound without its fraction, unless the bound is not of the type.
        let is_integer = value.as_number().is_some_and(|number| !number.is_f64());
        let bound = |bound: f64| if is_integer && is_in_range(bound, of) { bound.trunc() } else { bound };
        let above = of
            .minimum
            .map(bound)
            .is_none_or(|least| if of.exclusive_minimum { number > least } else { number >= least });
        let below = of
            .maximum
            .map(bound)
            .is_none_or(|most| if of.exclusive_maximum { number < most } else { number <= most });
        let multiple = match of.multiple_of.map(bound) {
            Some(step) if step <= 0.0 || (number / step).fract() != 0.0 => Fits::No,
            Some(_) | None => Fits::Yes,
        };
        return Fits::of(are_of_type && above && below).and(multiple);
    }
    let Some(text) = value.as_text() else { return Fits::Yes };
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let is_long =
        of.min_length.is_none_or(|least| length >= least) && of.max_length.is_none_or(|most| length <= most);
    let is_free = of.pattern.is_empty() && FREE_FORMATS.contains(&of.format);
    Fits::of(is_long).and(if is_free { Fits::Yes } else { Fits::Unknown })
}

fn within(count: usize, least: Option<i64>, most: Option<i64>) -> Fits {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    Fits::of(least.is_none_or(|least| count >= least) && most.is_none_or(|most| count <= most))
}

fn list(value: &Plain<'_>, of: &Props<'_>) -> Fits {
    let Plain::List(items) = value else { return Fits::Yes };
    let each = Fits::all(items.iter().map(|item| of.item().map_or(Fits::Yes, |of| fits(item, of))));
    within(items.len(), of.min_items, of.max_items).and(each)
}

fn object(value: &Plain<'_>, of: &Props<'_>) -> Fits {
    let Plain::Map(map) = value else { return Fits::Yes };
    let has_required = of.required.iter().flatten().all(|key| value.get(key).is_some());
    let each =
        Fits::all(map.iter().map(|(key, value)| match (of.properties.get(key), &of.additional_properties) {
            (Some(of), _) => fits(value, of),
            (None, Some(SchemaOrBool::Schema(of))) => fits(value, of),
            (None, Some(SchemaOrBool::Bool(allows))) => Fits::of(*allows),
            (None, None) => Fits::Yes,
        }));
    within(map.len(), of.min_properties, of.max_properties).and(Fits::of(has_required)).and(each)
}

fn logic(value: &Plain<'_>, of: &Props<'_>) -> Fits {
    let each = |list: &Option<Vec<Props<'_>>>| -> Vec<Fits> {
        list.iter().flatten().map(|of| fits(value, of)).collect()
    };
    let (any, one) = (each(&of.any_of), each(&of.one_of));
    let count = |all: &[Fits], what: Fits| all.iter().filter(|of| **of == what).count();
    let any = match (any.is_empty(), count(&any, Fits::Yes), count(&any, Fits::Unknown)) {
        (true, ..) | (_, 1.., _) => Fits::Yes,
        (_, 0, 0) => Fits::No,
        (..) => Fits::Unknown,
    };
    let one = match (one.is_empty(), count(&one, Fits::Yes), count(&one, Fits::Unknown)) {
        (true, ..) | (_, 1, 0) => Fits::Yes,
        (_, 2.., _) | (_, 0, 0) => Fits::No,
        (..) => Fits::Unknown,
    };
    let not = match of.not.as_deref().map(|of| fits(value, of)) {
        None | Some(Fits::No) => Fits::Yes,
        Some(Fits::Yes) => Fits::No,
        Some(Fits::Unknown) => Fits::Unknown,
    };
    Fits::all(each(&of.all_of).into_iter()).and(any).and(one).and(not)
}
