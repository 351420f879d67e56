//! Which bindings a program can be given (chapter 8.2 of the Code Mode specification).

use std::collections::HashSet;

use crate::{Misuse, Namespace};

/// Reserved words of ECMAScript, strict-mode and contextual ones included, and of Python (C189).
const RESERVED_WORDS: &[&str] = &[
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "import",
    "in",
    "instanceof",
    "new",
    "null",
    "return",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
    "let",
    "static",
    "implements",
    "interface",
    "package",
    "private",
    "protected",
    "public",
    "arguments",
    "eval",
    "False",
    "None",
    "True",
    "and",
    "as",
    "assert",
    "async",
    "def",
    "del",
    "elif",
    "except",
    "from",
    "global",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "match",
    "type",
    "_",
];

/// Globals that belong to the runtime (C190).
const RESERVED_GLOBALS: &[&str] = &[
    "console",
    "__dsh_main__",
    "__builtins__",
    "__name__",
    "__debug__",
];

/// Properties that errors have anyway (C192).
const ERROR_PROPERTIES: &[&str] = &[
    "name",
    "message",
    "stack",
    "args",
    "with_traceback",
    "add_note",
];

/// Checks that a program can be given these namespaces, in whatever language it is written (C188–C192).
///
/// # Errors
///
/// A global or class whose name no language takes or that the runtime needs itself, two of one name, or a member
/// property that errors have anyway; the message names it.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use dsh_code::{Binding, BoxFuture, Namespace, validate};
/// use dsh_schema::Document;
///
/// struct Echo;
/// impl Binding for Echo {
///     fn call(&self, _: usize, argument: Document) -> BoxFuture<'static, Result<Document, String>> {
///         Box::pin(std::future::ready(Ok(argument)))
///     }
/// }
///
/// let namespace = |global: &str| Namespace {
///     global: global.to_owned(),
///     functions: vec!["any name".to_owned()],
///     error_class: None,
///     binding: Arc::new(Echo),
/// };
/// assert!(validate(&[namespace("tools")]).is_ok());
/// assert_eq!(
///     validate(&[namespace("await")]).unwrap_err().to_string(),
///     "binding global \"await\" is not a usable identifier"
/// );
/// ```
pub fn validate(namespaces: &[Namespace]) -> Result<(), Misuse> {
    let mut globals = HashSet::new();
    for namespace in namespaces {
        let global = namespace.global.as_str();
        check_name("binding global", global)?;
        if !globals.insert(global) {
            return Err(Misuse::new(format!(
                "duplicate binding global \"{global}\""
            )));
        }
    }
    for class in namespaces
        .iter()
        .filter_map(|namespace| namespace.error_class.as_ref())
    {
        let name = class.name.as_str();
        check_name("error class", name)?;
        // Classes join the globals, so this also finds two classes of one name.
        if !globals.insert(name) {
            return Err(Misuse::new(format!("duplicate injected global \"{name}\"")));
        }
        let property = class.member_property.as_str();
        if property.is_empty() || ERROR_PROPERTIES.contains(&property) || is_dunder(property) {
            return Err(Misuse::new(format!(
                "error class \"{name}\": member property \"{property}\" is not usable"
            )));
        }
    }
    Ok(())
}

fn check_name(what: &str, name: &str) -> Result<(), Misuse> {
    if RESERVED_GLOBALS.contains(&name) {
        return Err(Misuse::new(format!(
            "{what} \"{name}\" is a reserved binding global"
        )));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let shaped = name.chars().all(plain) && name.starts_with(|c: char| !c.is_ascii_digit());
    if !shaped || RESERVED_WORDS.contains(&name) {
        return Err(Misuse::new(format!(
            "{what} \"{name}\" is not a usable identifier"
        )));
    }
    Ok(())
}

/// `__x__` with something in the middle.
fn is_dunder(name: &str) -> bool {
    name.len() > 4 && name.starts_with("__") && name.ends_with("__")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dsh_schema::Document;

    use super::*;
    use crate::{Binding, BoxFuture, ErrorClass};

    struct Nothing;
    impl Binding for Nothing {
        fn call(&self, _: usize, _: Document) -> BoxFuture<'static, Result<Document, String>> {
            Box::pin(std::future::ready(Ok(Document::null())))
        }
    }

    fn namespace(global: &str, class: Option<(&str, &str)>) -> Namespace {
        Namespace {
            global: global.to_owned(),
            functions: Vec::new(),
            error_class: class.map(|(name, property)| ErrorClass {
                name: name.to_owned(),
                member_property: property.to_owned(),
            }),
            binding: Arc::new(Nothing),
        }
    }

    #[track_caller]
    fn refused(namespaces: &[Namespace], part: &str) {
        let message = validate(namespaces).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }

    /// C188, C189.
    #[test]
    fn names_have_to_be_usable_in_every_language() {
        for name in [
            "not valid!",
            "await",
            "$tools",
            "a$b",
            "lambda",
            "",
            "1a",
            "é",
            "_",
            "type",
            "let",
        ] {
            refused(&[namespace(name, None)], "not a usable identifier");
            refused(
                &[namespace("tools", Some((name, "tool")))],
                "not a usable identifier",
            );
        }
        for name in ["tools", "_a", "A1", "__x", "toString", "constructor"] {
            assert_eq!(validate(&[namespace(name, None)]), Ok(()), "{name}");
        }
    }

    /// C190.
    #[test]
    fn what_the_runtime_needs_itself_is_reserved() {
        for name in [
            "console",
            "__dsh_main__",
            "__builtins__",
            "__name__",
            "__debug__",
        ] {
            refused(&[namespace(name, None)], "reserved binding global");
            refused(
                &[namespace("tools", Some((name, "tool")))],
                "reserved binding global",
            );
        }
    }

    /// C191.
    #[test]
    fn a_global_exists_once() {
        refused(
            &[namespace("a", None), namespace("a", None)],
            "duplicate binding global",
        );
        refused(
            &[namespace("a", Some(("a", "m")))],
            "duplicate injected global",
        );
        refused(
            &[namespace("a", Some(("b", "m"))), namespace("b", None)],
            "duplicate injected global",
        );
        refused(
            &[
                namespace("a", Some(("E", "m"))),
                namespace("b", Some(("E", "m"))),
            ],
            "duplicate injected global",
        );
        assert_eq!(validate(&[namespace("ToolCallError", None)]), Ok(()));
    }

    /// C192.
    #[test]
    fn a_member_property_is_not_one_that_errors_have() {
        for property in [
            "",
            "name",
            "message",
            "stack",
            "args",
            "with_traceback",
            "add_note",
            "__x__",
        ] {
            let namespaces = [namespace("tools", Some(("E", property)))];
            refused(&namespaces, "member property");
            refused(&namespaces, "not usable");
        }
        for property in [
            "toolName",
            "__",
            "____",
            "not an identifier",
            "_x_",
            "cause",
        ] {
            assert_eq!(
                validate(&[namespace("tools", Some(("E", property)))]),
                Ok(()),
                "{property}"
            );
        }
    }
}
