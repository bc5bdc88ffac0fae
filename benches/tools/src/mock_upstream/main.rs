//! A fast upstream with the HTTP API of OpenAI, for benchmarks and soaks of a gateway. It costs a few microseconds a
//! request, so that the gateway is what is measured.
//!
//! The model name of a request scripts its response, through any gateway that forwards it:
//!
//! | model | response |
//! |---|---|
//! | `fail-<status>` | that HTTP status with an error body; `Retry-After: 1` for 429 |
//! | `cut-<n>` | a stream of n tokens, then a closed connection without `[DONE]` |
//! | `hang` | none |
//! | `slow-<ms>` | delayed by so many milliseconds |

mod script;
mod texts;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clap::Parser;
use futures::Stream;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep};

use script::Script;
use texts::Texts;

type Body = BoxBody<Bytes, io::Error>;

/// A fast upstream with the HTTP API of OpenAI.
#[derive(Parser)]
#[command(after_help = "Example: mock-upstream --port 9100 --ttft-us 20000 --itl-us 5000 --tokens 32")]
struct Arguments {
    /// Port on 127.0.0.1.
    #[arg(long, default_value_t = 9100)]
    port: u16,
    /// Microseconds before a response that is not streamed.
    #[arg(long, default_value_t = 0)]
    latency_us: u64,
    /// Microseconds before the first event of a stream.
    #[arg(long, default_value_t = 0)]
    ttft_us: u64,
    /// Microseconds between two tokens of a stream.
    #[arg(long, default_value_t = 0)]
    itl_us: u64,
    /// Tokens of a stream.
    #[arg(long, default_value_t = 64)]
    tokens: usize,
    /// Words of a response that is not streamed.
    #[arg(long, default_value_t = 64)]
    words: usize,
}

struct Upstream {
    arguments: Arguments,
    texts: Texts,
}

impl Upstream {
    async fn respond(self: Arc<Self>, request: Request<Incoming>) -> io::Result<Response<Body>> {
        let path = request.uri().path().to_owned();
        if request.method() == Method::GET {
            let models = path.ends_with("/models");
            return Ok(whole(StatusCode::OK, if models { self.texts.models.clone() } else { texts::HEALTH }));
        }
        let body = request.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
        if path.ends_with("/embeddings") {
            return Ok(whole(StatusCode::OK, self.texts.embedding.clone()));
        }
        if !path.ends_with("/chat/completions") {
            return Ok(whole(StatusCode::NOT_FOUND, texts::UNKNOWN_URL));
        }
        let script = Script::of(&body);
        match script {
            Script::Fail(status) => return Ok(failure(status)),
            Script::Hang => std::future::pending().await,
            Script::Normal | Script::Cut(_) | Script::Slow(_) => {}
        }
        let delay = if let Script::Slow(delay) = script { delay } else { Duration::ZERO };
        if !script::is_true(&body, b"\"stream\"") {
            pause(delay + Duration::from_micros(self.arguments.latency_us)).await;
            return Ok(whole(StatusCode::OK, self.texts.completion.clone()));
        }
        pause(delay + Duration::from_micros(self.arguments.ttft_us)).await;
        let cut_after = if let Script::Cut(tokens) = script { Some(tokens) } else { None };
        let usage = script::contains(&body, b"include_usage");
        Ok(streamed(self.stream(cut_after, usage)))
    }

    /// Returns the events of a stream, which a task of its own sends.
    fn stream(self: Arc<Self>, cut_after: Option<usize>, usage: bool) -> impl Stream<Item = io::Result<Frame<Bytes>>> {
        let (to, mut from) = mpsc::channel(64);
        tokio::spawn(async move {
            // The client has left if an event cannot be sent.
            let _ = self.send(&to, cut_after, usage).await;
        });
        futures::stream::poll_fn(move |context| from.poll_recv(context))
    }

    async fn send(
        &self,
        to: &mpsc::Sender<io::Result<Frame<Bytes>>>,
        cut_after: Option<usize>,
        usage: bool,
    ) -> Result<(), mpsc::error::SendError<io::Result<Frame<Bytes>>>> {
        let event = |text: &Bytes| Ok(Frame::data(text.clone()));
        to.send(event(&self.texts.first)).await?;
        let mut ticks = ticks(self.arguments.itl_us).await;
        for token in 0..self.arguments.tokens {
            if let Some(ticks) = &mut ticks {
                ticks.tick().await;
            }
            if cut_after == Some(token) {
                return to.send(Err(io::ErrorKind::ConnectionReset.into())).await;
            }
            to.send(event(&self.texts.token)).await?;
        }
        to.send(event(&self.texts.last)).await?;
        if usage {
            to.send(event(&self.texts.usage)).await?;
        }
        to.send(event(&texts::DONE)).await
    }
}

async fn ticks(micros: u64) -> Option<Interval> {
    if micros == 0 {
        return None;
    }
    let mut ticks = interval(Duration::from_micros(micros));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    ticks.tick().await;
    Some(ticks)
}

async fn pause(duration: Duration) {
    if !duration.is_zero() {
        sleep(duration).await;
    }
}

fn whole(status: StatusCode, body: Bytes) -> Response<Body> {
    let mut response = Response::new(Full::new(body).map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert("x-request-id", HeaderValue::from_static("req_mock_0123456789abcdef"));
    headers.insert("openai-processing-ms", HeaderValue::from_static("1"));
    headers.insert("x-ratelimit-limit-requests", HeaderValue::from_static("10000"));
    headers.insert("x-ratelimit-remaining-requests", HeaderValue::from_static("9999"));
    response
}

fn failure(status: StatusCode) -> Response<Body> {
    let mut response = whole(status, texts::failure(status.as_u16()));
    if status == StatusCode::TOO_MANY_REQUESTS {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

fn streamed(events: impl Stream<Item = io::Result<Frame<Bytes>>> + Send + Sync + 'static) -> Response<Body> {
    let mut response = Response::new(StreamBody::new(events).boxed());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-request-id", HeaderValue::from_static("req_mock_0123456789abcdef"));
    response
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let texts = Texts::new(arguments.words, arguments.tokens);
    let listener = TcpListener::bind(("127.0.0.1", arguments.port)).await?;
    eprintln!("mock-upstream on 127.0.0.1:{}", arguments.port);
    let upstream = Arc::new(Upstream { arguments, texts });
    loop {
        let Ok((socket, _)) = listener.accept().await else { continue };
        let _ = socket.set_nodelay(true);
        let upstream = upstream.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| upstream.clone().respond(request));
            let server = hyper::server::conn::http1::Builder::new().timer(TokioTimer::new()).keep_alive(true).clone();
            // A client that leaves in the middle of a response is no error here.
            let _ = pin!(server.serve_connection(TokioIo::new(socket), service)).await;
        });
    }
}
