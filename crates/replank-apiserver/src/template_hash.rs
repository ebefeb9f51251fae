//! The hash of a pod template, as names of ReplicaSets and labels of pods carry it (pkg/controller `ComputeHash`, apimachinery
//! `SafeEncodeString`).
//!
//! Upstream hashes the struct as the package `spew` prints it: every field by its Go name, with the name of its type. The printed form is rebuilt here from the
//! table of Go types.

use replank_schema::{GoForm, GoId, GoMember, GoOwn, GoStruct, GoTypes, go_types};
use serde_json::{Map, Value};

/// The hash of a template (as the API server stores it, with its defaults), and of a counter that avoids collisions.
#[must_use]
pub fn template_hash(template: &Value, collisions: Option<i32>) -> String {
    let mut hash = Fnv32::default();
    hash.write(printed(template).as_bytes());
    if let Some(count) = collisions {
        // Eight bytes, of which four are written.
        hash.write(&count.to_le_bytes());
        hash.write(&[0; 4]);
    }
    safe(&hash.0.to_string())
}

/// The text in letters and digits that spell no word.
fn safe(text: &str) -> String {
    const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    text.bytes().map(|byte| char::from(LETTERS[usize::from(byte) % LETTERS.len()])).collect()
}

/// FNV-1a of 32 bits.
struct Fnv32(u32);

impl Default for Fnv32 {
    fn default() -> Self {
        Self(0x811c_9dc5)
    }
}

impl Fnv32 {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
    }
}

/// The template as `spew` prints it with `%#v`.
fn printed(template: &Value) -> String {
    let types = go_types();
    let mut printer = Printer { types, out: String::new() };
    if let Some(of) = types.named("io.k8s.api.core.v1.PodTemplateSpec") {
        printer.typed(of, Some(template));
    }
    printer.out
}

struct Printer {
    types: &'static GoTypes,
    out: String,
}

impl Printer {
    /// A value with the name of its type before it.
    fn typed(&mut self, of: GoId, value: Option<&Value>) {
        let known = self.types.get(of);
        let star = if matches!(known.form, GoForm::Pointer(_)) { "*" } else { "" };
        self.out += &format!("({star}{})", known.shown);
        self.bare(of, value);
    }

    fn bare(&mut self, of: GoId, value: Option<&Value>) {
        let value = value.filter(|value| !value.is_null());
        match (&self.types.get(of).form, value) {
            (GoForm::Pointer(inner), Some(value)) => self.bare(*inner, Some(value)),
            (GoForm::List(item), Some(Value::Array(items))) if !items.is_empty() => {
                self.out.push('[');
                for (at, one) in items.iter().enumerate() {
                    self.space(at);
                    self.bare(*item, Some(one));
                }
                self.out.push(']');
            }
            (GoForm::Map(item), Some(Value::Object(members))) if !members.is_empty() => {
                self.map(*item, members);
            }
            // The storage does not tell an empty list or map from none.
            (GoForm::Pointer(_) | GoForm::List(_) | GoForm::Map(_) | GoForm::Bytes, _) => self.out += "<nil>",
            (GoForm::Struct(of), value) => self.structure(of, value.and_then(Value::as_object)),
            (GoForm::Own(own), value) => self.own(*own, value),
            (GoForm::Text, value) => self.out += value.and_then(Value::as_str).unwrap_or_default(),
            (GoForm::Bool, value) => {
                self.out += if value == Some(&Value::Bool(true)) { "true" } else { "false" };
            }
            (GoForm::Int(_) | GoForm::Float, value) => {
                self.out += &value.map_or_else(|| "0".to_owned(), Value::to_string);
            }
        }
    }

    fn map(&mut self, item: GoId, members: &Map<String, Value>) {
        let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
        sorted.sort_by_key(|(name, _)| *name);
        self.out += "map[";
        for (at, (name, value)) in sorted.into_iter().enumerate() {
            self.space(at);
            self.out += name;
            self.out.push(':');
            self.bare(item, Some(value));
        }
        self.out.push(']');
    }

    fn structure(&mut self, of: &GoStruct, members: Option<&Map<String, Value>>) {
        self.out.push('{');
        self.fields(&of.members.iter().collect::<Vec<_>>(), 0, members);
        self.out.push('}');
    }

    /// Fields of a struct that is embedded so many levels deep; those of a struct within it stand together.
    fn fields(&mut self, fields: &[&GoMember], depth: usize, members: Option<&Map<String, Value>>) {
        let mut at = 0;
        while let Some(field) = fields.get(at) {
            self.space(at);
            let Some(inner) = field.embedded.get(depth) else {
                self.out += &format!("{}:", field.go_name);
                self.typed(field.of, members.and_then(|members| members.get(&field.name)));
                at += 1;
                continue;
            };
            let within =
                fields[at..].iter().take_while(|other| other.embedded.get(depth) == Some(inner)).count();
            // What is embedded in a pod template is of its own package.
            self.out += &format!("{inner}:(v1.{inner}){{");
            self.fields(&fields[at..at + within], depth + 1, members);
            self.out.push('}');
            at += within;
        }
    }

    fn own(&mut self, own: GoOwn, value: Option<&Value>) {
        match own {
            GoOwn::Quantity => self.quantity(value),
            GoOwn::IntOrString => {
                let (kind, number, text) = match value {
                    Some(Value::String(text)) => (1, 0, text.as_str()),
                    Some(value) => (0, value.as_i64().unwrap_or(0), ""),
                    None => (0, 0, ""),
                };
                self.out +=
                    &format!("{{Type:(intstr.Type){kind} IntVal:(int32){number} StrVal:(string){text}}}");
            }
            // A template has no times of its own: they are zero.
            GoOwn::Time | GoOwn::MicroTime => {
                self.out += "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}";
            }
            GoOwn::Duration => self.out += "{Duration:(time.Duration)0}",
            GoOwn::Any => self.out += "<nil>",
        }
    }

    /// resource.Quantity: value and scale as `ParseQuantity` reads them, and the text that was read.
    fn quantity(&mut self, value: Option<&Value>) {
        let text = match value {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            Some(_) | None => String::new(),
        };
        let Amount { value, scale, format, is_kept } = Amount::read(&text);
        let text = if is_kept { text } else { String::new() };
        self.out += &format!(
            "{{i:(resource.int64Amount){{value:(int64){value} scale:(resource.Scale){scale}}} \
             d:(resource.infDecAmount){{Dec:(*inf.Dec)<nil>}} s:(string){text} Format:(resource.Format){format}}}"
        );
    }

    fn space(&mut self, at: usize) {
        if at > 0 {
            self.out.push(' ');
        }
    }
}

/// The parts of a quantity.
struct Amount {
    value: i64,
    scale: i32,
    format: &'static str,
    /// Whether the text is kept beside them: of some that are in canonical form, `ParseQuantity` does not find out.
    is_kept: bool,
}

impl Amount {
    /// Reads a quantity in canonical form, as it is stored.
    fn read(text: &str) -> Self {
        const DECIMAL: [(&str, i32); 9] =
            [("n", -9), ("u", -6), ("m", -3), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
        const BINARY: [(&str, u32); 6] =
            [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
        if text.is_empty() || text == "0" {
            let format = if text.is_empty() { "" } else { "DecimalSI" };
            return Self { value: 0, scale: 0, format, is_kept: true };
        }
        let split =
            text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-' | '+')).unwrap_or(text.len());
        let (number, suffix) = text.split_at(split);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let shown = format!("{whole}{fraction}");
        let digits: i64 = shown.parse().unwrap_or(0);
        let places = i32::try_from(fraction.len()).unwrap_or(0);
        if let Some((_, shift)) = BINARY.iter().find(|(name, _)| *name == suffix) {
            let is_kept = digits & 7 != 0;
            return Self { value: digits << shift, scale: -places, format: "BinarySI", is_kept };
        }
        let decimal = |exponent: i32, format: &'static str| {
            let scale = exponent - places;
            let is_kept = scale % 3 == 0 && !shown.ends_with("000") && !shown.starts_with('0');
            Self { value: digits, scale, format, is_kept }
        };
        if let Some((_, exponent)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
            return decimal(*exponent, "DecimalSI");
        }
        match suffix.strip_prefix(['e', 'E']).and_then(|exponent| exponent.parse::<i32>().ok()) {
            Some(exponent) => decimal(exponent, "DecimalExponent"),
            None => decimal(0, "DecimalSI"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_printed_form_has_go_names_and_types() {
        let text =
            printed(&json!({"metadata": {"labels": {"b": "2", "a": "1"}}, "spec": {"containers": []}}));
        assert!(text.starts_with(
            "(v1.PodTemplateSpec){ObjectMeta:(v1.ObjectMeta){Name:(string) GenerateName:(string) "
        ));
        assert!(
            text.contains(" Labels:(map[string]string)map[a:1 b:2] Annotations:(map[string]string)<nil> ")
        );
        assert!(text.contains("Spec:(v1.PodSpec){Volumes:([]v1.Volume)<nil> "));
        assert!(text.contains(" HostPID:(bool)false "));
    }
}
