//! Stand-in until the schema crate has it.
use dsh_schema::{Contract, SchemaError, ValueRef, arguments_of};
#[derive(Clone)]
pub(crate) struct TypedContract(Contract);
impl TypedContract {
    pub(crate) fn of_arguments<T: schemars::JsonSchema>() -> Result<Self, SchemaError> { arguments_of::<T>().map(Self) }
    pub(crate) fn contract(&self) -> &Contract { &self.0 }
    pub(crate) fn is_valid(&self, v: ValueRef<'_>) -> bool { self.0.is_valid(v) }
    pub(crate) fn violations(&self, v: ValueRef<'_>) -> Vec<String> { self.0.violations(v, "") }
    pub(crate) fn decode<T: serde::de::DeserializeOwned>(&self, v: ValueRef<'_>) -> Result<T, Vec<String>> { v.decode().map_err(|e| vec![e.to_string()]) }
}
