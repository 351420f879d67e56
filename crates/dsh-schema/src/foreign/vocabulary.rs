//! The drafts of JSON Schema and what every keyword of theirs has to look like.

/// A draft that is enforced, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Draft {
    V4,
    V6,
    V7,
    V2019,
    V2020,
}

impl Draft {
    /// The draft that a `$schema` names; `None` for anything else.
    pub(super) fn of_uri(uri: &str) -> Option<Self> {
        let uri = uri.strip_suffix('#').unwrap_or(uri);
        let uri = uri
            .strip_prefix("https://")
            .or_else(|| uri.strip_prefix("http://"))?;
        Some(match uri.strip_prefix("json-schema.org/")? {
            "draft-04/schema" => Self::V4,
            "draft-06/schema" => Self::V6,
            "draft-07/schema" => Self::V7,
            "draft/2019-09/schema" => Self::V2019,
            "draft/2020-12/schema" => Self::V2020,
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::V4 => "draft-04",
            Self::V6 => "draft-06",
            Self::V7 => "draft-07",
            Self::V2019 => "2019-09",
            Self::V2020 => "2020-12",
        }
    }

    pub(super) fn of_crate(self) -> jsonschema::Draft {
        match self {
            Self::V4 => jsonschema::Draft::Draft4,
            Self::V6 => jsonschema::Draft::Draft6,
            Self::V7 => jsonschema::Draft::Draft7,
            Self::V2019 => jsonschema::Draft::Draft201909,
            Self::V2020 => jsonschema::Draft::Draft202012,
        }
    }
}

/// What the value of a keyword has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Anything: annotations and literals.
    Any,
    Text,
    Flag,
    /// A whole number, zero or more.
    Count,
    Number,
    /// A number above zero.
    Positive,
    /// One type word or a list of them.
    Types,
    /// A list with at least one member.
    Choices,
    /// A list of property names.
    Names,
    /// Lists of property names by property.
    NamesByName,
    Pattern,
    /// A schema for the value itself.
    Same,
    /// Schemas for the value itself.
    SameList,
    /// Schemas for the value itself, by property.
    SameByName,
    /// As [`Shape::SameByName`], or lists of names.
    Dependencies,
    /// A schema for members or elements that no sibling keyword covers.
    Child,
    /// A schema for every element, or one for each.
    ChildOrList,
    ChildList,
    ChildByName,
    /// Schemas by pattern, for members that siblings may cover too.
    ChildByPattern,
    /// A schema for members or elements that siblings may cover too.
    AlsoChild,
    /// Schemas that apply only where a reference points at them.
    Definitions,
    Reference,
    Anchor,
    /// Identifies or describes the document; only at its root.
    RootText,
}

use Draft::{V4, V6, V7, V2019, V2020};
use Shape::{
    AlsoChild, Anchor, Any, Child, ChildByName, ChildByPattern, ChildList, ChildOrList, Choices,
    Count, Definitions, Dependencies, Flag, Names, NamesByName, Number, Pattern, Positive,
    Reference, RootText, Same, SameByName, SameList, Text, Types,
};

/// Keyword, first and last draft that enforce it, shape. A keyword may have several rows.
const KEYWORDS: &[(&str, Draft, Draft, Shape)] = &[
    ("type", V4, V2020, Types),
    ("properties", V4, V2020, ChildByName),
    ("required", V4, V2020, Names),
    ("additionalProperties", V4, V2020, Child),
    ("items", V4, V2019, ChildOrList),
    ("items", V2020, V2020, Child),
    ("description", V4, V2020, Text),
    ("title", V4, V2020, Text),
    ("default", V4, V2020, Any),
    ("examples", V4, V2020, Any),
    ("enum", V4, V2020, Choices),
    ("const", V6, V2020, Any),
    ("oneOf", V4, V2020, SameList),
    ("anyOf", V4, V2020, SameList),
    ("allOf", V4, V2020, SameList),
    ("not", V4, V2020, Same),
    ("if", V7, V2020, Same),
    ("then", V7, V2020, Same),
    ("else", V7, V2020, Same),
    ("minimum", V4, V2020, Number),
    ("maximum", V4, V2020, Number),
    ("exclusiveMinimum", V4, V4, Flag),
    ("exclusiveMaximum", V4, V4, Flag),
    ("exclusiveMinimum", V6, V2020, Number),
    ("exclusiveMaximum", V6, V2020, Number),
    ("multipleOf", V4, V2020, Positive),
    ("minLength", V4, V2020, Count),
    ("maxLength", V4, V2020, Count),
    ("pattern", V4, V2020, Pattern),
    ("minItems", V4, V2020, Count),
    ("maxItems", V4, V2020, Count),
    ("uniqueItems", V4, V2020, Flag),
    ("additionalItems", V4, V2019, Child),
    ("prefixItems", V2020, V2020, ChildList),
    ("contains", V6, V2020, AlsoChild),
    ("minContains", V2019, V2020, Count),
    ("maxContains", V2019, V2020, Count),
    ("minProperties", V4, V2020, Count),
    ("maxProperties", V4, V2020, Count),
    ("patternProperties", V4, V2020, ChildByPattern),
    ("propertyNames", V6, V2020, AlsoChild),
    ("dependencies", V4, V2020, Dependencies),
    ("dependentRequired", V2019, V2020, NamesByName),
    ("dependentSchemas", V2019, V2020, SameByName),
    ("unevaluatedProperties", V2019, V2020, AlsoChild),
    ("unevaluatedItems", V2019, V2020, AlsoChild),
    ("$ref", V4, V2020, Reference),
    ("$recursiveRef", V2019, V2019, Reference),
    ("$dynamicRef", V2020, V2020, Reference),
    ("$anchor", V2019, V2020, Anchor),
    ("$dynamicAnchor", V2020, V2020, Anchor),
    ("$recursiveAnchor", V2019, V2019, Flag),
    ("$defs", V4, V2020, Definitions),
    ("definitions", V4, V2020, Definitions),
    ("$schema", V4, V2020, RootText),
    ("$id", V6, V2020, RootText),
    ("id", V4, V4, RootText),
    ("$comment", V4, V2020, Text),
    ("format", V4, V2020, Text),
    ("contentEncoding", V4, V2020, Text),
    ("contentMediaType", V4, V2020, Text),
    ("contentSchema", V2019, V2020, Any),
    ("deprecated", V4, V2020, Any),
    ("readOnly", V4, V2020, Any),
    ("writeOnly", V4, V2020, Any),
];

/// What `keyword` has to look like in `draft`; `None` when the draft does not enforce it.
pub(super) fn shape(draft: Draft, keyword: &str) -> Option<Shape> {
    if keyword.starts_with("x-") {
        return Some(Any);
    }
    KEYWORDS
        .iter()
        .find(|(name, first, last, _)| *name == keyword && (*first..=*last).contains(&draft))
        .map(|(_, _, _, shape)| *shape)
}

/// Whether `keyword` only describes, so that nothing is lost where it is ignored.
pub(super) fn is_annotation(keyword: &str) -> bool {
    keyword.starts_with("x-")
        || matches!(
            keyword,
            "description"
                | "title"
                | "default"
                | "examples"
                | "$comment"
                | "deprecated"
                | "readOnly"
                | "writeOnly"
                | "$schema"
                | "$id"
                | "id"
                | "$defs"
                | "definitions"
        )
}
