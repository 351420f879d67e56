//! The smallest tool, called once.
//!
//! ```text
//! cargo run -p dsh-tools --example echo
//! ```

#![allow(clippy::print_stdout, reason = "an example shows what comes of it")]

use std::error::Error;

use dsh_context::Fiber;
use dsh_tools::{Call, Settled, Signal, ToolError, Tools, ToolsConfig, tool};

/// Return a text in upper case.
#[tool(read_only, concurrency_safe)]
async fn echo(
    /// What to say.
    text: String,
) -> Result<String, ToolError> {
    Ok(format!("ECHO: {}", text.to_uppercase()))
}

/// Makes a runtime with the one tool and sends it one call, as a model would word it.
async fn say(arguments: &str) -> Result<Settled, Box<dyn Error>> {
    let app = Fiber::root("echo example");
    let tools = Tools::new(ToolsConfig::default());
    tools.global(&app).register(echo()?)?;
    Ok(tools
        .execute(Call::new("call-1", "echo", arguments, Signal::never()))
        .await)
}

/// Runs the example.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    let settled = say(r#"{"text":"hello world"}"#).await?;
    println!("{}", settled.content().summary());
    println!("{}", serde_json::to_string(settled.outcome())?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::say;

    /// X2: the text is `ECHO: ` and the input in upper case.
    #[tokio::test]
    async fn the_input_comes_back_in_upper_case() {
        let settled = say(r#"{"text":"hello world"}"#).await.unwrap();
        assert_eq!(settled.content().blocks(), ["ECHO: HELLO WORLD".into()]);
        assert_eq!(
            settled.value().unwrap().root().as_str(),
            Some("ECHO: HELLO WORLD")
        );
    }

    #[tokio::test]
    async fn a_call_without_text_is_told_so() {
        let settled = say("{}").await.unwrap();
        assert_eq!(settled.code(), Some("INVALID_ARGS"));
    }
}
