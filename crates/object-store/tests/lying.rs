//! Servers that lie or do not answer: each read ends in time, with an error that names the file, or with the right values.
#![cfg(feature = "http")]

#[path = "server/mod.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod server;

use std::fs;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use meshmap::Options;
use meshmap_object_store::{Blocking, Error, Remote, Settings};
use meshmap_testing::data;
use server::{Act, serve};

/// The time that a response may take here.
const TIMEOUT: Duration = Duration::from_millis(700);
/// A request, the request for the head that may follow it, and the time that a busy machine takes.
const LATEST: Duration = Duration::from_secs(4);
/// Bytes that buffers of the system hold while a server sends without an end.
const MOST_SENT: usize = 32 << 20;

fn settings() -> Settings {
    let mut settings = Settings::default();
    (settings.backoff, settings.timeout) = (Duration::from_millis(1), TIMEOUT);
    (settings.first, settings.gap) = (0, 16);
    settings
}

fn file() -> Vec<u8> {
    fs::read(data::valid("cgeo", "anim_a.cgeo")).unwrap()
}

/// The outcome of reading positions from a server that lies from a request on: a word for it, and its text.
async fn outcome(act: Act, from: usize) -> (&'static str, String) {
    let bytes = file();
    let length = bytes.len() as u64;
    let server = serve(
        bytes,
        move |number, _| if number < from { Act::Right } else { act },
    );
    let remote = Remote::at_with(&server.address, settings()).unwrap();
    let start = Instant::now();
    let read = async {
        let opened = remote.open().await?;
        let proxy = opened.as_cgeo().unwrap().clone();
        remote
            .run_blocking(move |_| proxy.snapshot(1)?.positions())
            .await
    };
    let read = read.await;
    let taken = start.elapsed();
    assert!(taken < LATEST, "{act:?} from request {from}: {taken:?}");
    assert!(
        remote.held() <= length && remote.stats().bytes < 1 << 20,
        "{act:?}: {:?}",
        remote.stats()
    );
    let sent = server.sent.load(Ordering::Relaxed);
    assert!(sent < MOST_SENT, "{act:?}: {sent} bytes were sent");
    match read {
        Ok(positions) => {
            let proxy = meshmap::cgeo::Proxy::open(data::valid("cgeo", "anim_a.cgeo")).unwrap();
            assert!(
                positions == proxy.snapshot(1).unwrap().positions().unwrap(),
                "{act:?}"
            );
            ("right", String::new())
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.starts_with(&server.address), "{act:?}: {text}");
            let word = match error {
                Error::Timeout { .. } => "timeout",
                Error::Changed { .. } => "changed",
                Error::Response { .. } => "response",
                Error::Store { .. } => "store",
                Error::Mesh { .. } => "mesh",
                _ => "other",
            };
            (word, text)
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn reads_from_servers_that_lie_end_in_time() {
    // From the first request on, and from the second.
    let kinds = [
        ("does not answer", Act::Hang, "timeout", "timeout"),
        (
            "sends a head, then nothing",
            Act::HangBody,
            "timeout",
            "timeout",
        ),
        ("sends 20 bytes per second", Act::Drip, "timeout", "timeout"),
        (
            "sends a body without an end",
            Act::Endless,
            "response",
            "response",
        ),
        (
            "sends a head without an end",
            Act::EndlessHead,
            "store",
            "store",
        ),
        ("does not send HTTP", Act::Garbage, "store", "store"),
        ("closes without an answer", Act::Close, "store", "store"),
        (
            "closes in the middle of the body",
            Act::Cut,
            "store",
            "store",
        ),
        ("declares a longer body", Act::LongLength, "store", "store"),
        (
            "sends a part of the range",
            Act::ShortBody,
            "response",
            "response",
        ),
        (
            "sends more than the range",
            Act::LongBody,
            "response",
            "response",
        ),
        ("sends the whole file", Act::Whole, "right", "store"),
        ("sends another range", Act::OtherRange, "store", "store"),
        (
            "sends no Content-Range",
            Act::NoContentRange,
            "store",
            "store",
        ),
        (
            "sends a Content-Range that is no range",
            Act::BadContentRange,
            "store",
            "store",
        ),
        (
            "declares a file of 2^64 bytes",
            Act::HugeTotal,
            "right",
            "changed",
        ),
        (
            "declares another length",
            Act::OtherTotal,
            "store",
            "changed",
        ),
        ("has another tag", Act::OtherTag, "right", "changed"),
        ("has another file", Act::OtherFile, "mesh", "changed"),
        (
            "has another file of the same tag",
            Act::OtherBytes,
            "mesh",
            "mesh",
        ),
        ("compresses", Act::Compressed, "response", "response"),
        ("redirects to itself", Act::RedirectLoop, "store", "store"),
        ("answers 503", Act::Status(503), "store", "store"),
        ("answers 429", Act::Status(429), "store", "store"),
        ("answers 403", Act::Status(403), "store", "store"),
        ("answers 404", Act::Status(404), "store", "store"),
    ];
    println!(
        "| a server that | from the first request | from the second | error |\n|---|---|---|---|"
    );
    let mut wrong = Vec::new();
    // At the same time, for some wait until they end.
    let outcomes = join_all(kinds.map(|(_, act, ..)| join(outcome(act, 0), outcome(act, 1)))).await;
    for ((name, _, first, second), ((one, text), (two, _))) in kinds.into_iter().zip(outcomes) {
        let short: String = text
            .split_once("file.bin")
            .map_or("", |(_, rest)| rest)
            .chars()
            .take(110)
            .collect();
        println!("| {name} | {one} | {two} |{short} |");
        if (one, two) != (first, second) {
            wrong.push(format!(
                "{name}: {one}, {two}, expected {first}, {second}: {text}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn query_strings_credentials_and_headers_are_sent_and_not_shown() {
    let server = serve(file(), |_, _| Act::Right);
    let address =
        server.address.replace("http://", "http://user:p%40ss@") + "?X-Amz-Signature=se%2Fcret&v=1";
    let mut settings = settings();
    settings.headers = vec![("X-Caller".to_owned(), "hidden".to_owned())];
    let remote = Remote::at_with(&address, settings.clone()).unwrap();
    remote.open().await.unwrap();
    let lines = server.lines.lock().unwrap().clone();
    let has = |wanted: &str| lines.iter().any(|line| line.eq_ignore_ascii_case(wanted));
    assert!(
        has("GET /folder/file.bin?X-Amz-Signature=se%2Fcret&v=1 HTTP/1.1"),
        "{lines:?}"
    );
    // user:p@ss
    assert!(
        has("authorization: Basic dXNlcjpwQHNz") && has("x-caller: hidden"),
        "{lines:?}"
    );
    assert!(!format!("{remote:?}{settings:?}").contains("hidden"));

    // The caller's header replaces the credentials of the address.
    settings
        .headers
        .push(("Authorization".to_owned(), "Bearer token".to_owned()));
    Remote::at_with(&address, settings)
        .unwrap()
        .open()
        .await
        .unwrap();
    let lines = server.lines.lock().unwrap().clone();
    assert!(
        lines
            .iter()
            .any(|line| line.eq_ignore_ascii_case("authorization: Bearer token")),
        "{lines:?}"
    );

    for act in [
        Act::Status(403),
        Act::Status(404),
        Act::Status(401),
        Act::Echo,
        Act::Close,
    ] {
        let server = serve(file(), move |_, _| act);
        let address = server.address.replace("http://", "http://user:p%40ss@")
            + "?X-Amz-Signature=se%2Fcret&v=a b#part";
        let error = Remote::at_with(&address, self::settings())
            .unwrap()
            .open()
            .await
            .unwrap_err();
        let mut text = format!("{error} {error:?}");
        let mut source = std::error::Error::source(&error);
        while let Some(inner) = source {
            text += &format!(" {inner} {inner:?}");
            source = inner.source();
        }
        assert!(text.contains("file.bin"), "{act:?}: {text}");
        assert!(
            !text.contains("cret") && !text.contains("p%40ss") && !text.contains("p@ss"),
            "{act:?}: {text}"
        );
    }
}

#[test]
fn readers_that_block_end_in_time() {
    let server = serve(file(), |_, _| Act::Hang);
    let start = Instant::now();
    let blocking = Blocking::at_with(&server.address, settings()).unwrap();
    let error = meshmap::MeshFile::from_source(blocking.source(), &Options::default()).unwrap_err();
    assert!(start.elapsed() < LATEST, "{error}");
    let text = format!("{error:#} {:?}", std::error::Error::source(&error));
    assert!(
        text.contains("nothing came within") && text.contains("the timeout"),
        "{text}"
    );
}

#[test]
fn headers_that_http_cannot_send_are_refused() {
    for (name, value) in [("no name", "x"), ("name", "two\nlines"), ("", "x")] {
        let mut settings = settings();
        settings.headers = vec![(name.to_owned(), value.to_owned())];
        let error = Remote::at_with("http://127.0.0.1:1/a", settings).unwrap_err();
        assert!(
            matches!(error, Error::Address { .. }) && error.to_string().contains("header"),
            "{error}"
        );
        assert!(!error.to_string().contains("two"), "{error}");
    }
}

/// A byte every 50 milliseconds is not silence.
#[test]
fn a_range_that_drips_ends_at_its_deadline() {
    let server = serve(file(), |_, _| Act::Drip);
    let mut settings = settings();
    (settings.timeout, settings.deadline) = (Duration::from_secs(600), Duration::from_millis(300));
    let start = Instant::now();
    let blocking = Blocking::at_with(&server.address, settings).unwrap();
    let error = meshmap::MeshFile::from_source(blocking.source(), &Options::default()).unwrap_err();
    assert!(start.elapsed() < LATEST, "{error}");
    let text = format!("{error:#} {:?}", std::error::Error::source(&error));
    assert!(
        text.contains("not all came within 300ms, the deadline"),
        "{text}"
    );
}

/// A server may lead to itself, and to others only if that is asked for.
#[tokio::test]
async fn redirections_to_other_hosts_are_followed_where_asked_for() {
    let other = serve(file(), |_, _| Act::Right);
    let port = other
        .address
        .split([':', '/'])
        .nth(4)
        .unwrap()
        .parse()
        .unwrap();
    let server = serve(file(), move |_, _| Act::RedirectAway(port));
    let error = Remote::at_with(&server.address, settings())
        .unwrap()
        .open()
        .await
        .unwrap_err();
    let text = format!("{error} {:?}", std::error::Error::source(&error));
    assert!(text.contains("redirects to another host"), "{text}");
    assert_eq!(other.requests.load(Ordering::SeqCst), 0);
    let mut asked = settings();
    asked.redirects = true;
    Remote::at_with(&server.address, asked)
        .unwrap()
        .open()
        .await
        .unwrap();
}

/// The bodies of errors only explain the status: neither their length nor what they contain hides it, or takes memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn bodies_of_errors_are_read_in_part() {
    for status in [400, 401, 403, 404, 409, 416, 429, 500, 503] {
        for act in [
            Act::LongError(status),
            Act::StalledError(status),
            Act::BinaryError(status),
        ] {
            let server = serve(file(), move |_, _| act);
            let mut settings = settings();
            settings.retries = 0;
            let start = Instant::now();
            let error = Remote::at_with(&server.address, settings)
                .unwrap()
                .open()
                .await
                .unwrap_err();
            assert!(start.elapsed() < LATEST, "{act:?}: {:?}", start.elapsed());
            let sent = server.sent.load(Ordering::Relaxed);
            assert!(sent < MOST_SENT, "{act:?}: {sent} bytes were sent");
            let text = error.to_string();
            assert!(matches!(error, Error::Store { .. }), "{act:?}: {text}");
            assert!(text.contains(&status.to_string()), "{act:?}: {text}");
        }
    }
}

/// A server that redirects gets neither its own address in `Referer`, nor, if it is another one, what is meant for the first.
#[tokio::test]
async fn redirections_carry_no_secrets() {
    let other = serve(file(), |_, _| Act::Right);
    let port = other
        .address
        .split([':', '/'])
        .nth(4)
        .unwrap()
        .parse()
        .unwrap();
    let server = serve(file(), move |_, _| Act::RedirectAway(port));
    let mut settings = settings();
    settings.redirects = true;
    settings.headers = vec![("X-Api-Key".to_owned(), "headersecret".to_owned())];
    let address = server.address.replace("http://", "http://user:passsecret@")
        + "?X-Amz-Signature=signsecret";
    Remote::at_with(&address, settings)
        .unwrap()
        .open()
        .await
        .unwrap();
    let first = server.lines.lock().unwrap().join("\n").to_ascii_lowercase();
    assert!(
        first.contains("signsecret") && first.contains("headersecret"),
        "{first}"
    );
    assert!(first.contains("authorization: basic"), "{first}");
    let lines = other.lines.lock().unwrap().join("\n").to_ascii_lowercase();
    assert!(lines.contains("range: bytes="), "{lines}");
    for word in ["secret", "referer", "authorization", "x-api-key"] {
        assert!(!lines.contains(word), "{word}: {lines}");
    }
}

/// Files of one server share its connections. A connection is free again a moment after its last answer was read: a thread that
/// asks before that opens another one, so busy machines have some more connections than threads.
#[test]
fn files_of_a_process_share_connections() {
    const THREADS: usize = 4;
    let server = serve(file(), |_, _| Act::Right);
    let other = server.address.replace("http://", "http://user:secret@");
    let read = |address: &str| {
        let source = Blocking::at_with(address, settings()).unwrap().source();
        meshmap::MeshFile::from_source(source, &Options::default()).unwrap();
    };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..250).for_each(|_| read(&server.address)));
        }
    });
    let connections = server.connections.load(Ordering::SeqCst);
    let requests = server.requests.load(Ordering::SeqCst);
    println!("{connections} connections for {requests} requests of {THREADS} threads");
    assert!(
        connections <= 4 * THREADS,
        "{connections} connections for {requests} requests"
    );
    // Other credentials are another client.
    let before = server.lines.lock().unwrap().len();
    read(&server.address);
    read(&other);
    let lines = server.lines.lock().unwrap();
    let sent = lines[before..]
        .iter()
        .filter(|line| line.to_ascii_lowercase().starts_with("authorization"));
    assert!(
        sent.count() * 2
            == lines[before..]
                .iter()
                .filter(|line| line.starts_with("GET"))
                .count()
    );
}
