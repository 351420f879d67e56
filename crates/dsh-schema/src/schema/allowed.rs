//! What `enum` and `const` together allow.

use hashbrown::HashSet;

use crate::Number;

use super::literal::{Literal, LiteralValue, is_equal, is_same};
use super::tree::{INDEXED_FROM, Scalar};
use super::view::View;

/// The `enum` and `const` of a scalar. At least one of the two is there.
#[derive(Debug)]
pub(super) struct Allowed {
    /// Empty when there is no `enum`; an `enum` is never empty.
    pub(super) values: Box<[Literal]>,
    /// Among `values` when there is an `enum`.
    pub(super) constant: Option<Literal>,
    /// The values as a compact JSON array.
    pub(super) listed: Box<str>,
    /// What both allow, by type, for the verdict.
    accepted: Accepted,
}

#[derive(Debug)]
enum Accepted {
    Strings(Box<[Box<str>]>),
    ManyStrings(HashSet<Box<str>, foldhash::fast::RandomState>),
    Numbers(Box<[Number]>),
    Booleans { yes: bool, no: bool },
    Null,
}

impl Allowed {
    pub(super) fn new(scalar: Scalar, values: Vec<Literal>, constant: Option<Literal>) -> Self {
        let listed = values
            .iter()
            .map(Literal::json)
            .collect::<Vec<_>>()
            .join(",");
        let accepted = || {
            constant
                .iter()
                .chain(values.iter().filter(|_| constant.is_none()))
                .map(Literal::value)
        };
        let strings = || {
            accepted().filter_map(|value| match value {
                LiteralValue::String(text) => Some(text.clone()),
                _ => None,
            })
        };
        let accepted = match scalar {
            Scalar::String if strings().count() < INDEXED_FROM => {
                Accepted::Strings(strings().collect())
            }
            Scalar::String => Accepted::ManyStrings(strings().collect()),
            Scalar::Number | Scalar::Integer => Accepted::Numbers(
                accepted()
                    .filter_map(|value| match value {
                        LiteralValue::Number(number) => Some(*number),
                        _ => None,
                    })
                    .collect(),
            ),
            Scalar::Boolean => {
                let is = |boolean| {
                    accepted()
                        .any(|value| matches!(value, LiteralValue::Boolean(it) if *it == boolean))
                };
                Accepted::Booleans {
                    yes: is(true),
                    no: is(false),
                }
            }
            Scalar::Null => Accepted::Null,
        };
        Self {
            listed: format!("[{listed}]").into(),
            values: values.into(),
            constant,
            accepted,
        }
    }

    /// Whether `enum` and `const` allow a value of the right type.
    #[inline]
    pub(super) fn permits<'a, V: View<'a>>(&self, value: V) -> bool {
        match &self.accepted {
            Accepted::Strings(strings) => value
                .string()
                .is_some_and(|text| strings.iter().any(|string| is_same(string, text))),
            Accepted::ManyStrings(strings) => {
                value.string().is_some_and(|text| strings.contains(text))
            }
            Accepted::Numbers(numbers) => value
                .number()
                .is_some_and(|number| numbers.iter().any(|&it| is_equal(it, number))),
            Accepted::Booleans { yes, no } => value
                .boolean()
                .is_some_and(|boolean| if boolean { *yes } else { *no }),
            Accepted::Null => value.is_null(),
        }
    }
}
