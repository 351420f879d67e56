//! What a model is told about writing programs (chapters 2 and 5.1 of the Code Mode specification).
//!
//! Tests look for the phrases that the rules name; the rest is ours to word.

/// The section `tools:code-only` (C43).
pub(crate) const CODE_ONLY: &str = "\
`run_code` is the only tool you can call directly. A call that names any other tool fails. Everything that the SDK \
below declares is within reach from inside the program that you hand to `run_code`.";

/// The instructions above the TypeScript declarations (C53, D2, D15).
pub(crate) const TYPESCRIPT: &str = "\
# Writing code for `run_code`

`run_code` takes two required arguments: `code`, the program, and `description`, a short summary of what it does.

- `code` is the body of an async TypeScript function: `await` and `return` work at its top level. Write erasable syntax only: \
no `enum`, no namespaces, no parameter properties, no `import`. Types are removed before the program runs and are never \
checked, so annotations are advice.
- Call a tool as `await tools.name(args)`. A name that is no identifier is quoted: `await tools[\"my-tool\"](args)`.
- Every call resolves to the typed, canonical JSON value of that tool, not to text.
- Arguments must be lossless JSON: no `undefined`, functions, dates, NaN or cycles. A tool that takes nothing still gets `{}`.
- Integers beyond 2^53 arrive as `bigint`; pass a `bigint` where you need such an integer exactly.
- A call that fails rejects with `ToolCallError`, which carries `toolName` and a `message` for people. Catch it to go on; \
uncaught, it ends the program. What was done before stays done.
- Read-only calls that do not depend on each other MAY overlap under `Promise.all`, because tools that are safe beside each \
other run together. A call that changes something runs alone, in the order of submission. Use `await` where one step needs the \
outcome of another, and await every call: one that is still running when the program ends is cancelled.
- You get back what the program returns and what it prints with `console.log`, and nothing else. So pick out, filter and \
count in the program, and return what you need. What is returned must be lossless JSON too.
- One exception: when a call succeeds with an image in its result, that result is appended once the program has ended, and \
you can look at it in the next step. All other intermediate results stay invisible to you.
- `setTimeout` and `clearTimeout` exist. There is no file system, network, process or module loading except through `tools`, \
and nothing survives from one program to the next.

These declarations are in scope:";

/// The instructions above the Python declarations (C94).
pub(crate) const PYTHON: &str = "\
# Writing code for `run_code`

`run_code` takes two required arguments: `code`, the program, and `description`, a short summary of what it does.

- `code` is the body of an async Python function: `await` and `return` work at its top level.
- Of the names declared below, only `tools` and `ToolCallError` exist when the program runs. The typed classes document \
shapes: arguments and values are plain `dict` and `list` values, and calling such a class raises `NameError`.
- Call a tool as `await tools.name(args)`. A name that is no identifier, that is reserved or that starts with an underscore is \
subscripted: `await tools[\"my-tool\"](args)`.
- Every call gives the typed, canonical JSON value of that tool, not text. Arguments must be lossless JSON.
- A call that fails raises `ToolCallError`, which carries `toolName` and a message. Use `try`/`except` to go on; what was done \
before stays done.
- Read-only calls that do not depend on each other MAY overlap under `asyncio.gather`, because tools that are safe beside each \
other run together. A call that changes something runs alone, in the order of submission.
- You get back what the program prints with `print` and what it gives to a top-level `return`, and nothing else. The returned \
value must be lossless JSON.
- One exception: when a call succeeds with an image in its result, that result is appended once the program has ended, and \
you can look at it in the next step. All other intermediate results stay invisible to you.

These declarations describe what is in scope:";

/// The description of `run_code` for TypeScript (C98).
pub(crate) const TYPESCRIPT_TOOL: &str = "\
Execute a TypeScript program that calls tools. Both arguments are required. `code` is the BODY of an async function in \
erasable syntax; `await` and `return` are allowed at its top level. `description` is a brief summary of the program. Tools are \
called as `await tools.name(args)`; the system prompt declares them. What the program returns and what it prints with \
`console.log` is all that comes back, except that results with images follow after the run.";

/// The description of `run_code` for Python.
pub(crate) const PYTHON_TOOL: &str = "\
Execute a Python program that calls tools. Both arguments are required. `code` is the BODY of an async function; `await` is \
allowed at its top level, and so is `return <value>`. `description` is a brief summary of the program. Tools are called as \
`await tools.name(args)`; the system prompt declares them. What the program returns and what it writes with `print` is all \
that comes back, except that results with images follow after the run.";

/// The description of the argument `description`, the same for every language (C99).
pub(crate) const DESCRIPTION: &str = "\
What the program does, in five to ten words and active voice; the UI displays it. Examples: \"Count the tests in every \
crate\", \"Rename the parser's error type\", \"Find callers of the old client\".";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn says(text: &str, phrases: &[&str]) {
        for phrase in phrases {
            assert!(text.contains(phrase), "{phrase:?} is missing");
        }
    }

    /// C43.
    #[test]
    fn the_rule_of_code_only() {
        says(
            CODE_ONLY,
            &[
                "`run_code` is the only tool you can call directly",
                "fails",
                "SDK below",
            ],
        );
    }

    /// C53 with D2 and D15.
    #[test]
    fn the_facts_of_typescript() {
        says(
            TYPESCRIPT,
            &[
                "code for `run_code`",
                "two required arguments",
                "`code`",
                "`description`",
                "body of an async TypeScript function",
                "erasable syntax only",
                "no `enum`",
                "no namespaces",
                "never checked",
                "await tools.name(args)",
                "tools[\"my-tool\"](args)",
                "typed, canonical JSON value",
                "lossless JSON",
                "rejects with `ToolCallError`",
                "`toolName`",
                "`message`",
                "MAY overlap under `Promise.all`",
                "runs alone",
                "order of submission",
                "console.log",
                "image",
                "next step",
                "invisible",
                "`bigint`",
                "`setTimeout`",
                "declarations",
            ],
        );
    }

    /// C94.
    #[test]
    fn the_facts_of_python() {
        says(
            PYTHON,
            &[
                "two required arguments",
                "async Python function",
                "only `tools` and `ToolCallError`",
                "`NameError`",
                "subscripted",
                "`try`/`except`",
                "asyncio.gather",
                "`print`",
                "`return`",
                "lossless JSON",
                "image",
            ],
        );
        assert!(!PYTHON.contains("TypeScript"));
    }

    /// C98, C99.
    #[test]
    fn the_flavours_of_the_tool() {
        says(
            TYPESCRIPT_TOOL,
            &[
                "Execute a TypeScript program",
                "Both arguments are required",
                "`code`",
                "BODY of an",
                "erasable syntax",
                "`await`",
                "`return`",
                "`description`",
                "await tools.name(args)",
                "images",
            ],
        );
        says(
            PYTHON_TOOL,
            &[
                "Execute a Python program",
                "`return <value>`",
                "`print`",
                "images",
            ],
        );
        assert!(!PYTHON_TOOL.contains("TypeScript"));
        says(
            DESCRIPTION,
            &["five to ten words", "active voice", "UI displays"],
        );
    }
}
