//! YAML, read as kubectl reads it.
//!
//! The grammar is granit-parser's (YAML 1.2, the parser below serde-saphyr); what a scalar means is decided
//! here, because kubectl follows YAML 1.1 in that: it uses sigs.k8s.io/yaml, which is go-yaml 2 followed by a
//! conversion to JSON. serde-saphyr's own reading into `serde_json::Value` differs from that in ways that
//! change objects: `017` is a string there and 15 here, `1_000` in a float, `08` and `1e999` differ, a key `yes`
//! stays `yes` and here becomes `true`, and a key that is there twice ends the reading.
//!
//! | YAML | here, as kubectl | remark |
//! |---|---|---|
//! | `yes` `on` `y`, `no` `off` `n`, each in lower, upper or title case | booleans | also as keys: `on:` is the key `true` |
//! | `~` `null` `Null` `NULL`, nothing | null | |
//! | `0x1F` `0o17` `017` `0b11` `1_000` `+12` | 31, 15, 15, 3, 1000, 12 | `08` is 8 (no octal number, but a float) |
//! | `1.0` `1e3` | 1, 1000 | a float without fraction becomes an integer on its way through JSON |
//! | integers beyond 64 bits | float; in another base than ten, the string | unsigned ones of 64 bits are kept exactly; kubectl rounds them |
//! | `1e999` | the string | no float can hold it |
//! | `.nan` `.inf` | refused | JSON has none |
//! | `2001-01-01`, `1:30` | strings | no timestamps, no base 60 |
//! | keys that are numbers or booleans | their text | `1.5e6` as `1.5e+06`, as Go prints a 32-bit float |
//! | keys that are null, lists, mappings, or integers from 2^63 to 2^64 | refused | |
//! | a key twice | the last one, and a problem | kubectl: the last one, silently |
//! | `<<` | merged; the mapping's own keys win | go-yaml lets whichever comes later win |
//! | `!!binary` | decoded, if it is UTF-8, else refused | kubectl replaces what is not UTF-8 |
//! | `!!str` `!!int` `!!float` `!!bool` `!!null` | as told; refused where that cannot be | |
//! | other tags, `!` | a scalar's text; on lists and mappings no effect | |
//! | anchors, aliases | repeated in place, within bounds | |
//! | `%YAML` before `---` | accepted | kubectl splits there, and fails |
//! | `"one⏎two"`, the second line not indented; tabs before lines that go on | read | no YAML by its grammar ([`crate::relaxed`]) |
//! | `{a: 1}` as a whole document | accepted | kubectl takes a leading `{` for JSON, and fails |

pub(crate) mod build;
mod node;
mod resume;
pub(crate) mod scalar;
