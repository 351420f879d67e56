//! A tool that goes to the network, has a card, and stops when it is told to.
//!
//! The weather comes from a small HTTP server that this program runs on the loopback interface, so the example needs no
//! network. It answers for every city but one; the call for that city is cancelled while the tool waits for the answer.
//!
//! ```text
//! cargo run -p dsh-tools --example weather
//! ```

#![allow(clippy::print_stdout, reason = "an example shows what comes of it")]

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use dsh_context::Fiber;
use dsh_tools::card::{CallKind, CallView, ResultView, WebView};
use dsh_tools::{
    Access, Call, DurableResult, Reason, RunContext, Settled, Signal, ToolError, Tools,
    ToolsConfig, tool,
};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// The city whose weather never comes.
const SILENT: &str = "Atlantis";

/// The longest response the tool reads, in bytes.
const LONGEST: u64 = 64 * 1024;

/// How long a cancelled call may take to settle and to close its connection.
const SOON: Duration = Duration::from_secs(5);

/// The current weather of a city.
#[derive(Debug, Deserialize, Serialize, schemars::JsonSchema)]
struct Weather {
    /// The city asked about.
    city: String,
    /// Degrees Celsius.
    temperature: f64,
    /// A word for the sky.
    sky: String,
}

/// Where the weather comes from.
#[derive(Clone, Copy, Debug)]
struct Station(SocketAddr);

/// Look up the current weather of a city.
#[tool(
    read_only,
    open_world,
    concurrency_safe,
    timeout = "10s",
    access = |_| [Access::network(station.0.ip().to_string())],
    render = |_, weather| format!("{} in {}, {} °C", weather.sky, weather.city, weather.temperature),
    present_call = pending_card,
    present_result = |args, result| finished_card(station, args, result),
)]
async fn weather(
    /// The city's name in English.
    city: String,
    #[state] station: Station,
    cx: RunContext,
) -> Result<Weather, ToolError> {
    // What loses is dropped here, and with it the connection: nothing of this call is left when it settles.
    tokio::select! {
        body = get(station, &city) => Ok(serde_json::from_str(&body?)?),
        reason = cx.signal().cancelled() => Err(ToolError::new(format!("no weather for {city}: {reason}"))),
    }
}

fn pending_card(args: &WeatherArgs) -> CallView {
    CallView::Generic {
        title: format!("Weather in {}", args.city),
        kind: Some(CallKind::Fetch),
        raw_input: None,
        content: None,
        locations: None,
    }
}

fn finished_card(
    station: Station,
    args: &WeatherArgs,
    result: &DurableResult,
) -> Option<ResultView> {
    // A failure has no page to show; the generic card shows its text.
    (!result.is_error).then(|| {
        ResultView::Web(WebView::Fetch {
            title: None,
            url: format!("http://{}{}", station.0, path_of(&args.city)),
            status_code: 200,
            truncated: false,
        })
    })
}

/// The body of a page, by HTTP/1.1 with one connection for one request.
async fn get(station: Station, city: &str) -> Result<String, ToolError> {
    let mut connection = TcpStream::connect(station.0).await?;
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        path_of(city),
        station.0
    );
    connection.write_all(request.as_bytes()).await?;
    let mut response = String::new();
    connection
        .take(LONGEST)
        .read_to_string(&mut response)
        .await?;
    let (head, body) = response
        .split_once("\r\n\r\n")
        .ok_or_else(|| ToolError::new("the weather station broke off its answer").retryable())?;
    match head.split(' ').nth(1) {
        Some("200") => Ok(body.to_owned()),
        status => Err(ToolError::coded(
            "WeatherError",
            "WEATHER_REFUSED",
            format!(
                "the weather station refused: status {}",
                status.unwrap_or("unknown")
            ),
        )),
    }
}

/// The path of a city's page; everything but letters and digits is escaped, so that no name can leave its place.
fn path_of(city: &str) -> String {
    let mut path = String::from("/weather/");
    for byte in city.bytes() {
        if byte.is_ascii_alphanumeric() {
            path.push(byte.into());
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
    path
}

/// What the server tells of a request that it does not answer.
#[derive(Debug, PartialEq, Eq)]
enum Silence {
    Asked,
    Closed,
}

/// Answers requests until the listener is dropped with the runtime.
async fn serve(listener: TcpListener, silences: mpsc::UnboundedSender<Silence>) -> io::Result<()> {
    loop {
        let (connection, _) = listener.accept().await?;
        tokio::spawn(answer(connection, silences.clone()));
    }
}

async fn answer(
    mut connection: TcpStream,
    silences: mpsc::UnboundedSender<Silence>,
) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        if connection.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let request = String::from_utf8_lossy(&request);
    let city = request
        .strip_prefix("GET /weather/")
        .and_then(|rest| rest.split(' ').next())
        .unwrap_or_default();
    if city == SILENT {
        // A receiver that is gone has seen enough.
        let _ = silences.send(Silence::Asked);
        // Nothing more is coming, so this returns when the tool closes its end.
        let _ = connection.read_u8().await;
        let _ = silences.send(Silence::Closed);
        return Ok(());
    }
    let body = serde_json::json!({ "city": city, "temperature": 21.5, "sky": "sunny" }).to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    connection.write_all(head.as_bytes()).await?;
    connection.write_all(body.as_bytes()).await
}

/// Both calls, as they settled.
struct Report {
    answered: Settled,
    cancelled: Settled,
}

async fn ask_twice() -> Result<Report, Box<dyn Error>> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let station = Station(listener.local_addr()?);
    let (silences, mut heard) = mpsc::unbounded_channel();
    let server = tokio::spawn(serve(listener, silences));

    let app = Fiber::root("weather example");
    let tools = Tools::new(ToolsConfig::default());
    tools.global(&app).register(weather(station)?)?;

    let call = Call::new("call-1", "weather", r#"{"city":"Kyiv"}"#, Signal::never());
    let answered = tools.execute(call).await;

    let (canceller, signal) = Signal::pair();
    let arguments = format!(r#"{{"city":"{SILENT}"}}"#);
    let call = tools.execute(Call::new("call-2", "weather", arguments, signal));
    let cancel_when_asked = async {
        let asked = heard.recv().await;
        canceller.cancel(Reason::Cancelled);
        asked
    };
    // The limit is no part of the plan: it makes a tool that ignores its signal a failure instead of a program that hangs.
    let (cancelled, asked) =
        tokio::time::timeout(SOON, async { tokio::join!(call, cancel_when_asked) }).await?;
    let closed = tokio::time::timeout(SOON, heard.recv()).await?;
    if (asked, closed) != (Some(Silence::Asked), Some(Silence::Closed)) {
        return Err("the tool left its connection open".into());
    }
    server.abort();
    Ok(Report {
        answered,
        cancelled,
    })
}

/// Runs the example.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    let report = ask_twice().await?;
    for (label, settled) in [
        ("answered", &report.answered),
        ("cancelled", &report.cancelled),
    ] {
        println!("{label}: {}", serde_json::to_string(settled.outcome())?);
        let Some((tool, arguments)) = settled
            .execution()
            .tool()
            .zip(settled.execution().arguments())
        else {
            continue;
        };
        println!("  timeout: {:?}", tool.timeout());
        println!(
            "  pending card: {}",
            serde_json::to_string(&tool.present_call(arguments))?
        );
        println!(
            "  finished card: {}",
            serde_json::to_string(&tool.present_result(arguments, &settled.durable()))?
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_call_is_answered_and_one_is_cancelled() {
        let report = ask_twice().await.unwrap();
        assert_eq!(
            report.answered.content().blocks(),
            ["sunny in Kyiv, 21.5 °C".into()]
        );
        let value: Weather = report.answered.value().unwrap().decode().unwrap();
        assert_eq!((value.city.as_str(), value.temperature), ("Kyiv", 21.5));
        assert_eq!(
            report.cancelled.error().unwrap().message,
            "no weather for Atlantis: cancelled"
        );
    }

    #[tokio::test]
    async fn the_definition_says_what_policy_needs() {
        let tool = weather(Station(([127, 0, 0, 1], 80).into())).unwrap();
        let arguments = dsh_schema::Document::parse(r#"{"city":"Kyiv"}"#).unwrap();
        assert_eq!(tool.timeout(), Some(Duration::from_secs(10)));
        assert_eq!(
            tool.access(&arguments),
            Some(vec![Access::network("127.0.0.1")])
        );
        assert!(tool.is_open_world() && tool.is_concurrency_safe(&arguments));
        let card = tool.present_call(&arguments).unwrap();
        assert!(matches!(card, CallView::Generic { title, .. } if title == "Weather in Kyiv"));
    }

    #[test]
    fn a_city_stays_in_its_place() {
        assert_eq!(path_of("a/../b c"), "/weather/a%2F%2E%2E%2Fb%20c");
    }
}
