//! `rig-agent`: a set of typed tools, called by name with raw JSON text. It has no policy, schema check or output
//! contract on this path.

use std::hint::black_box;

use rig_agent::tool::{Tool, ToolContext, ToolExecutionError, ToolSet};
use serde_json::{Value, json};

use crate::measure::{Report, ready};
use crate::work::{Add, Search};

struct AddTool;

impl Tool for AddTool {
    const NAME: &'static str = "add";
    type Args = Add;
    type Output = Value;
    type Error = ToolExecutionError;

    fn description(&self) -> String {
        "Add two numbers.".to_owned()
    }

    fn parameters(&self) -> Value {
        json!({ "type": "object", "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } } })
    }

    async fn call(&self, _: &mut ToolContext, arguments: Add) -> Result<Value, ToolExecutionError> {
        Ok(Value::from(arguments.run()))
    }
}

struct SearchTool;

impl Tool for SearchTool {
    const NAME: &'static str = "search";
    type Args = Search;
    type Output = Value;
    type Error = ToolExecutionError;

    fn description(&self) -> String {
        "Search.".to_owned()
    }

    fn parameters(&self) -> Value {
        Search::schema()
    }

    async fn call(
        &self,
        _: &mut ToolContext,
        arguments: Search,
    ) -> Result<Value, ToolExecutionError> {
        serde_json::to_value(arguments.run()).map_err(ToolExecutionError::from_error)
    }
}

pub fn run(report: &mut Report) {
    let mut set = ToolSet::default();
    set.add_tool(AddTool);
    set.add_tool(SearchTool);
    let mut context = ToolContext::new();
    let mut call = |name: &str, text: &str| {
        let result = ready(set.execute(name, black_box(text), &mut context));
        assert!(result.is_success());
        result
    };
    report.measure("rig ToolSet/small", || call("add", Add::TEXT));
    report.measure("rig ToolSet/medium", || call("search", Search::TEXT));
}
