//! one
use dsh_context::Fiber; use dsh_tools::*; use std::task::*; use std::future::Future;
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add { a: i64, b: i64 }
fn main(){
 let fiber=Fiber::root("x"); let tools=Tools::new(ToolsConfig::default());
 let add = Tool::new("add", "Add two integers.").args::<Add>().output::<i64>().read_only().run(|args, _cx| async move { Ok(args.a + args.b) }).unwrap();
 let global=tools.global(&fiber);
 global.register(add).unwrap();
 if std::env::args().nth(2).is_some() {
    global.on_pre_execute(|_, next| async move { next.run().await }).unwrap();
    global.guard(|_: &Execution| None).unwrap();
    global.on_execute(|_, next| async move { Ok(next.run().await?.into()) }).unwrap();
    global.on_post_execute(|_, _, next| async move { next.run().await }).unwrap();
    global.on_result(|_, outcome: &Outcome| assert!(!outcome.is_error())).unwrap();
 }
 let n: usize = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(10000);
 for _ in 0..n { run(&tools); }
}
#[inline(never)]
fn run(tools:&Tools){
  let mut cx=Context::from_waker(Waker::noop());
  let f=std::pin::pin!(tools.execute(Call::new("call_0123456789abcdef","add",r#"{"a":2,"b":40}"#,Signal::never())));
  match f.poll(&mut cx){ Poll::Ready(s)=>{ std::hint::black_box(&s); assert!(!s.is_error()) }, _=>panic!() }
}
