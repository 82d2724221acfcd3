//! The same values for any number of threads, and no deadlock wherever the library is called from.
#![cfg(feature = "rayon")]

mod support;

use std::time::Duration;

use meshmap::iqm::{Model, Trs};
use meshmap::{Options, Parallelism, Source};
use rayon::prelude::*;
use zerocopy::IntoBytes;

fn many_frames(parallelism: Parallelism) -> Model {
    let options = Options::default().with_parallelism(parallelism);
    Model::from_source_with(Source::from_bytes(support::long_animation()), &options).unwrap()
}

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

fn bytes(frames: &[Trs]) -> &[u8] {
    frames.as_bytes()
}

#[test]
fn frames_are_the_same_for_any_number_of_threads() {
    let expected = many_frames(Parallelism::Off).frames().to_vec().unwrap();
    assert!(expected.len() > 50_000);
    let model = many_frames(Parallelism::Rayon);
    for threads in [1, 2, 8] {
        let found = pool(threads).install(|| model.frames().to_vec().unwrap());
        assert!(bytes(&found) == bytes(&expected), "{threads} threads");
    }
}

#[test]
fn nested_parallel_calls_end() {
    support::with_watchdog(Duration::from_secs(120), || {
        let model = many_frames(Parallelism::Rayon);
        let expected = model.frames().to_vec().unwrap();
        for threads in [1, 2, 8] {
            pool(threads).install(|| {
                (0..64).into_par_iter().for_each(|_| {
                    let found = model.frames().to_vec().unwrap();
                    assert!(bytes(&found) == bytes(&expected));
                });
            });
        }
    });
}

#[test]
fn many_threads_read_one_lazy_model() {
    let path = support::path("skin_multi_anim.iqm");
    let model = Model::open(path).unwrap();
    let expected = model.frames().to_vec().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..16_usize {
            let (model, expected) = (&model, &expected);
            scope.spawn(move || {
                let frames = model.frames();
                for round in 0..200 {
                    let frame = (round * 7 + thread) % frames.len() as usize;
                    let mut pose = vec![Trs::default(); frames.poses()];
                    frames.frame_into(frame as u32, &mut pose).unwrap();
                    assert!(bytes(&pose) == bytes(&expected[frame * pose.len()..][..pose.len()]));
                }
            });
        }
    });
}
