//! The text of an uncaught throw (C204).

use rquickjs::{Object, String as Text, Type, Value};

use super::realm::Realm;

/// What is said when a thrown value cannot be converted.
const UNRENDERABLE: &str = "program threw an unrenderable value";

/// The name under which a program is compiled.
pub(super) const FILE: &str = "program.ts";

/// The text of a thrown value. May run accessors and conversions of the program, under its budget. `shift` is how far the
/// wrapper moved the first line.
pub(super) fn text<'js>(realm: &Realm<'js>, thrown: &Value<'js>, shift: usize) -> String {
    let result = match thrown.as_object().filter(|object| object.is_error()) {
        Some(error) => error_text(realm, error, shift),
        None => convert(realm, thrown),
    };
    drop(realm.promise.ctx().catch());
    result.unwrap_or_else(|| UNRENDERABLE.to_owned())
}

/// Whether a thrown value is what the engine throws for an exhausted heap.
pub(super) fn is_out_of_memory<'js>(realm: &Realm<'js>, thrown: &Value<'js>) -> bool {
    // Without memory even for the error the engine throws no object.
    if matches!(thrown.type_of(), Type::Uninitialized | Type::Null) {
        return true;
    }
    let Some(error) = thrown.as_object().filter(|object| object.is_error()) else {
        return false;
    };
    error.get_prototype().as_ref() == Some(&realm.internal_error)
        && realm
            .slot(error, "message")
            .and_then(|slot| slot.value)
            .and_then(|message| message.as_string()?.to_string().ok())
            .is_some_and(|message| message == "out of memory")
}

fn convert<'js>(realm: &Realm<'js>, value: &Value<'js>) -> Option<String> {
    let text: Text<'_> = realm.call("text", (value.clone(),)).ok()?;
    realm.lossy(&text).ok()
}

/// The engine's stack has frames only, so the heading is put before it; a stack that the program defined stands alone.
fn error_text<'js>(realm: &Realm<'js>, error: &Object<'js>, shift: usize) -> Option<String> {
    let cx = error.ctx();
    let read = |key: &str| -> Option<String> {
        match error.get::<_, Value<'_>>(key) {
            Ok(value) if value.is_undefined() => None,
            Ok(value) => convert(realm, &value),
            Err(_) => {
                drop(cx.catch());
                None
            }
        }
    };
    let is_own = realm.slot(error, "stack").is_some();
    let stack = read("stack").filter(|stack| !stack.is_empty());
    if is_own && let Some(stack) = stack {
        return Some(stack);
    }
    let name = read("name")
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "Error".to_owned());
    let message = read("message").unwrap_or_default();
    let heading = if message.is_empty() {
        name
    } else {
        format!("{name}: {message}")
    };
    let frames = stack.map(|stack| frames(&stack, shift)).unwrap_or_default();
    Some(if frames.is_empty() {
        heading
    } else {
        format!("{heading}\n{frames}")
    })
}

/// The frames inside of the program, its first line moved back to where the author wrote it.
fn frames(stack: &str, shift: usize) -> String {
    let first_line = format!("{FILE}:1:");
    let mut lines = Vec::new();
    for line in stack.lines().filter(|line| line.contains(FILE)) {
        let moved = line.rfind(&first_line).and_then(|at| {
            let (head, rest) = line.split_at(at + first_line.len());
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (column, tail) = rest.split_at_checked(digits)?;
            let column = column.parse::<usize>().ok()?.checked_sub(shift)?;
            Some(format!("{head}{column}{tail}"))
        });
        lines.push(moved.unwrap_or_else(|| line.to_owned()));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C199: positions are those of the author's text.
    #[test]
    fn only_the_first_line_moves() {
        let stack = "    at f (program.ts:1:50)\n    at g (program.ts:12:3)\n    at native (native)\n    at program.ts:1:45\n";
        assert_eq!(
            frames(stack, 40),
            "    at f (program.ts:1:10)\n    at g (program.ts:12:3)\n    at program.ts:1:5"
        );
        assert_eq!(
            frames("    at x (program.ts:1:3)", 40),
            "    at x (program.ts:1:3)"
        );
    }
}
