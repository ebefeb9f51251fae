//! Whether a value of one type can stand where another is wanted.

use std::sync::Arc;

use crate::types::Type;

/// What has been found out about unknown types.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    found: Vec<Option<Type>>,
}

impl Known {
    pub(super) fn fresh(&mut self) -> Type {
        self.found.push(None);
        Type::Unknown(self.found.len() - 1)
    }

    /// A type with all that is known of it.
    pub(super) fn resolve(&self, of: &Type) -> Type {
        match of {
            Type::Unknown(number) => match &self.found[*number] {
                Some(found) => self.resolve(found),
                None => of.clone(),
            },
            Type::List(item) => Type::list(self.resolve(item)),
            Type::Map(key, value) => Type::map(self.resolve(key), self.resolve(value)),
            Type::Optional(of) => Type::optional(self.resolve(of)),
            other => other.clone(),
        }
    }

    /// Whether a value can stand where another type is wanted; what that says of unknown types is remembered.
    pub(super) fn fits(&mut self, is: &Type, wanted: &Type) -> bool {
        let (is, wanted) = (self.resolve(is), self.resolve(wanted));
        match (&is, &wanted) {
            (Type::Unknown(one), Type::Unknown(other)) if one == other => true,
            (Type::Unknown(number), other) | (other, Type::Unknown(number)) => {
                self.found[*number] = Some(other.clone());
                true
            }
            (Type::Dyn, _) | (_, Type::Dyn) => true,
            (Type::List(one), Type::List(other)) | (Type::Optional(one), Type::Optional(other)) => {
                self.fits(one, other)
            }
            (Type::Map(key, value), Type::Map(other_key, other_value)) => {
                self.fits(key, other_key) && self.fits(value, other_value)
            }
            // Null stands for objects, times and what is of Kubernetes' own.
            (
                Type::Null,
                Type::Object(_) | Type::Duration | Type::Timestamp | Type::Own(_) | Type::Optional(_),
            )
            | (
                Type::Object(_) | Type::Duration | Type::Timestamp | Type::Own(_) | Type::Optional(_),
                Type::Null,
            ) => true,
            (Type::Object(one), Type::Object(other)) => Arc::ptr_eq(one, other) || one.name == other.name,
            (one, other) => one == other,
        }
    }

    /// A type of a signature, with an unknown in place of what is open.
    pub(super) fn instance(&mut self, of: &Type, open: &mut Vec<(u8, Type)>) -> Type {
        match of {
            Type::Open(number) => {
                if let Some((_, known)) = open.iter().find(|(one, _)| one == number) {
                    return known.clone();
                }
                let fresh = self.fresh();
                open.push((*number, fresh.clone()));
                fresh
            }
            Type::List(item) => Type::list(self.instance(item, open)),
            Type::Map(key, value) => {
                let key = self.instance(key, open);
                Type::map(key, self.instance(value, open))
            }
            Type::Optional(of) => Type::optional(self.instance(of, open)),
            other => other.clone(),
        }
    }
}
