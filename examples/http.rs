//! Reads one level of detail of a Second Life mesh over HTTP, by byte ranges: the header, and then just that block.
//!
//!     cargo run --example http [FILE [LOD]]
//!
//! Client and server are as small as they can be; what matters is the call of `Fragments::drive`, in which an
//! asynchronous client awaits its responses. All ranges that are missing travel in one round trip.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use meshmap::slmesh::Lod;
use meshmap::{Bytes, Fragments, MeshFile, Options, Source};

type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

/// A connection that stays open.
struct Client {
    stream: BufReader<TcpStream>,
    path: &'static str,
}

/// The status line and the headers that matter here.
struct Head {
    status: u16,
    content_length: usize,
    /// The range of the bytes in the file, and the length of the file: `Content-Range`.
    range: Option<(Range<u64>, u64)>,
}

impl Client {
    fn connect(server: SocketAddr, path: &'static str) -> Result<Self> {
        Ok(Self {
            stream: BufReader::new(TcpStream::connect(server)?),
            path,
        })
    }

    fn send(&mut self, method: &str, headers: &str) -> Result<()> {
        let request = format!(
            "{method} {} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n",
            self.path
        );
        Ok(self.stream.get_mut().write_all(request.as_bytes())?)
    }

    /// The length of the file.
    fn len(&mut self) -> Result<u64> {
        self.send("HEAD", "")?;
        let head = self.head()?;
        if head.status == 200 {
            Ok(head.content_length as u64)
        } else {
            Err(format!("status {}", head.status).into())
        }
    }

    /// The bytes of all these ranges: every request is sent before the first response is read.
    fn get_ranges(&mut self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        println!("  GET {ranges:?}");
        for range in ranges {
            self.send(
                "GET",
                &format!("Range: bytes={}-{}\r\n", range.start, range.end - 1),
            )?;
        }
        ranges.iter().map(|range| self.part(range)).collect()
    }

    fn part(&mut self, range: &Range<u64>) -> Result<Bytes> {
        let head = self.head()?;
        let mut body = vec![0; head.content_length];
        self.stream.read_exact(&mut body)?;
        match (head.status, head.range) {
            (206, Some((part, _))) if part == *range => Ok(body.into()),
            // A server that knows no ranges sends the whole file.
            (200, _) => {
                Ok(Bytes::from(body)
                    .slice(usize::try_from(range.start)?..usize::try_from(range.end)?))
            }
            (status, part) => Err(format!("status {status}, range {part:?}").into()),
        }
    }

    fn head(&mut self) -> Result<Head> {
        let mut lines = head_of(&mut self.stream)?.into_iter();
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1)?.parse().ok())
            .ok_or("no status")?;
        let mut head = Head {
            status,
            content_length: 0,
            range: None,
        };
        let fields = lines.filter_map(|line| {
            line.split_once(": ")
                .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        });
        for (name, value) in fields {
            match name.as_str() {
                "content-length" => head.content_length = value.parse()?,
                "content-range" => {
                    let parts = value
                        .strip_prefix("bytes ")
                        .and_then(|value| value.split_once('/'));
                    let (range, len) = parts.ok_or("no range")?;
                    let (first, last) = range.split_once('-').ok_or("no range")?;
                    head.range = Some((first.parse()?..last.parse::<u64>()? + 1, len.parse()?));
                }
                _ => {}
            }
        }
        Ok(head)
    }
}

/// The lines before an empty one.
fn head_of(stream: &mut impl BufRead) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        match line.trim_end() {
            "" => return Ok(lines),
            line => lines.push(line.to_owned()),
        }
    }
}

/// Answers HEAD and ranges of one file, to one client after the other.
fn serve(listener: &TcpListener, file: &[u8]) -> io::Result<()> {
    for stream in listener.incoming() {
        let mut stream = BufReader::new(stream?);
        loop {
            let request = head_of(&mut stream)?;
            let Some(first) = request.first() else { break };
            let range = request.iter().find_map(|line| {
                let (first, last) = line.strip_prefix("Range: bytes=")?.split_once('-')?;
                Some((
                    first.parse::<usize>().ok()?,
                    last.parse::<usize>().ok()?.min(file.len() - 1),
                ))
            });
            let (head, body) = match range {
                Some((first, last)) if first <= last => {
                    let range = format!("Content-Range: bytes {first}-{last}/{}\r\n", file.len());
                    (
                        format!("206 Partial Content\r\n{range}"),
                        &file[first..=last],
                    )
                }
                _ => ("200 OK\r\n".to_owned(), file),
            };
            let head = format!("HTTP/1.1 {head}Content-Length: {}\r\n\r\n", body.len());
            let body = if first.starts_with("HEAD") { &[] } else { body };
            stream
                .get_mut()
                .write_all(&[head.as_bytes(), body].concat())?;
        }
    }
    Ok(())
}

/// Runs a future on this thread. Programs have a runtime for this.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            return value;
        }
    }
}

async fn load(mut client: Client, lod: Lod) -> Result<()> {
    let fragments = Fragments::new(Some(client.len()?));
    let mut fetch = |ranges: Vec<Range<u64>>| std::future::ready(client.get_ranges(&ranges));

    println!("opening");
    let open = |source: &Source| MeshFile::from_source(source.clone(), &Options::default());
    let MeshFile::SlMesh(asset) = fragments.drive(open, &mut fetch).await? else {
        return Err("not a Second Life mesh".into());
    };
    println!("{lod}");
    let Some(mesh) = fragments.drive(|_| asset.lod(lod), &mut fetch).await? else {
        return Err("no such level of detail".into());
    };
    println!(
        "{} vertices, {} triangles",
        mesh.vertex_count(),
        mesh.triangle_count()
    );
    Ok(())
}

/// Serves a file, and loads from it.
fn run(path: &str, lod: Lod) -> Result<()> {
    let file = std::fs::read(path)?;
    let listener = TcpListener::bind(("localhost", 0))?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || serve(&listener, &file));
    block_on(load(Client::connect(address, "/mesh")?, lod))
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next();
    let lod = arguments.next().map_or(Ok(Lod::High), |lod| lod.parse())?;
    run(path.as_deref().unwrap_or(DEFAULT), lod)
}

const DEFAULT: &str = "tests/data/slmesh/valid/nodemv_02_static_4lod.slmesh";

#[test]
fn every_level_of_detail_comes_over_http_by_ranges() {
    for lod in Lod::ALL {
        run(DEFAULT, lod).unwrap();
    }
}
