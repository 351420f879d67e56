//! The example programs: they run to their end, and their own tests run here.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

#[path = "../examples/echo.rs"]
mod echo;
#[path = "../examples/weather.rs"]
mod weather;

#[test]
fn echo_runs() {
    echo::main().unwrap();
}

#[test]
fn weather_runs_and_ends() {
    weather::main().unwrap();
}
