//! The running batch under seeded schedules: callers begin, read or do not read, cancel and leave in any order
//! between its rounds, which the test drives manually. Whatever the order, each caller that stays soon gets the
//! result that it would get alone, the memory of the others is freed, and the limit of memory is kept.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use ken_language::Sampling;
use ken_random::below;
use rayon::ThreadPoolBuilder;

use super::batch::Batch;
use super::draft::DRAFT_ROWS;
use super::job::{Job, Message, Order, Place, Seat, Work};
use super::tests::{decoder, job, prompt};
use super::{Engines, LoadOptions, Writer};
use crate::decoder::files::checkpoint::Checkpoint;
use crate::decoder::graph::cpu::Cpu;

/// Calls of a schedule.
const CALLS: usize = 12;

/// Tokens that fit into memory: a few requests' worth.
const BUDGET: usize = 260;

/// Rounds within which a call that stays is served, whatever the others do: several times what all of them need one
/// after the other.
const SOON: usize = 600;

/// A small batch.
fn batch(folder: &Path) -> Batch<Cpu> {
    let checkpoint = Checkpoint::open(folder, None).unwrap();
    let config = &checkpoint.config;
    let options = LoadOptions::default();
    let engines = Engines::on_cpu(config, &checkpoint.weights, &options).unwrap();
    let writer = Writer {
        tokenizer: Arc::new(checkpoint.tokenizer),
        end_tokens: checkpoint.end_tokens.into(),
    };
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let cache_bytes = BUDGET * config.bytes_per_token();
    Batch::new(engines, writer, config, pool, cache_bytes)
}

/// The jobs of a call: texts, scores or states, small ones and one that takes all memory, some with a shared prefix.
fn jobs(state: &mut u64) -> Vec<Job> {
    let one = |state: &mut u64| {
        let long = match below(state, 12) {
            0 => BUDGET,
            _ => 1 + below(state, 60),
        };
        let mut made = job(
            prompt(below(state, 3) as u32, long),
            1 + below(state, 3),
            1 + below(state, 10),
        );
        if long > 20 && below(state, 2) == 0 {
            made.shared = vec![16];
        }
        match below(state, 4) {
            0 => {
                made.work = Work::Score {
                    continuations: vec![vec![3, 4, 5], vec![6]],
                    exact: true,
                }
            }
            1 => made.work = Work::State(1),
            _ => {
                if let Work::Write { sampling, .. } = &mut made.work {
                    *sampling = Sampling::at(1.0, below(state, 1000) as u64);
                }
            }
        }
        made
    };
    (0..1 + below(state, 3)).map(|_| one(state)).collect()
}

/// The result of a call: for each request and sample, its text or its numbers.
type Results = BTreeMap<(usize, usize), String>;

/// A caller.
struct Caller {
    messages: Receiver<Message>,
    results: Results,
    /// The parts of its requests that have not arrived, except cancelled ones.
    missing: usize,
    began: usize,
    /// Whether it cancelled anything, or left.
    stays: bool,
    left: bool,
}

impl Caller {
    /// Reads the messages; returns how often something was written.
    fn read(&mut self) -> usize {
        let mut writes = 0;
        while let Ok(message) = self.messages.try_recv() {
            let (place, result) = match message {
                Message::Read { .. } | Message::PromptLogprobs { .. } => continue,
                Message::Wrote(all) => {
                    writes += 1;
                    for written in all {
                        if let Some(end) = written.end {
                            let place = (written.request, written.sample);
                            let text = format!("{} {:?}", end.text, end.finish);
                            assert!(self.results.insert(place, text).is_none(), "twice");
                            self.missing -= 1;
                        }
                    }
                    continue;
                }
                Message::Scored { request, logprobs } => ((request, 0), format!("{logprobs:?}")),
                Message::State { request, state } => {
                    ((request, 0), format!("{:?}", state.residual))
                }
                Message::Failed(error) => panic!("{error}"),
            };
            assert!(self.results.insert(place, result).is_none(), "twice");
            self.missing -= 1;
        }
        writes
    }
}

/// A batch with callers.
struct Company {
    batch: Batch<Cpu>,
    orders: Sender<Order>,
    received: Receiver<Order>,
    seats: Arc<AtomicUsize>,
    callers: Vec<Caller>,
    round: usize,
}

impl Company {
    fn new(folder: &Path) -> Self {
        let (orders, received) = channel();
        Self {
            batch: batch(folder),
            orders,
            received,
            seats: Arc::default(),
            callers: Vec::new(),
            round: 0,
        }
    }

    fn begin(&mut self, jobs: Vec<Job>) {
        let (messages, received) = channel();
        self.callers.push(Caller {
            messages: received,
            results: Results::new(),
            missing: jobs.iter().map(Job::parts).sum(),
            began: self.round,
            stays: true,
            left: false,
        });
        let seat = Seat::take(&self.seats, usize::MAX).unwrap();
        self.tell(Order::Begin {
            call: (self.callers.len() - 1) as u64,
            jobs,
            messages,
            seat,
        });
    }

    fn tell(&self, order: Order) {
        self.orders.send(order).unwrap();
    }

    /// Lets a caller read and acknowledge.
    fn read(&mut self, caller: usize) {
        for _ in 0..self.callers[caller].read() {
            self.tell(Order::Seen(caller as u64));
        }
    }

    fn leave(&mut self, caller: usize) {
        self.callers[caller].left = true;
        self.tell(Order::Leave(caller as u64));
    }

    fn obey(&mut self) {
        while let Ok(order) = self.received.try_recv() {
            assert!(self.batch.obey(order));
        }
    }

    fn go_round(&mut self) {
        self.obey();
        assert!(self.batch.round(&self.received));
        self.round += 1;
        let (held, active) = (self.batch.held(), self.batch.active.len());
        assert!(held <= BUDGET || active <= 1, "{held} tokens for {active}");
    }

    /// Runs rounds until the batch is idle.
    fn finish(&mut self) {
        loop {
            self.obey();
            for caller in 0..self.callers.len() {
                if !self.callers[caller].left {
                    self.read(caller);
                }
                let Caller {
                    missing,
                    began,
                    stays,
                    ..
                } = self.callers[caller];
                let late = self.round - began > SOON;
                assert!(!(stays && missing > 0 && late), "caller {caller} waits");
            }
            if self.batch.is_idle() {
                return;
            }
            self.go_round();
        }
    }
}

/// A schedule: the requests of each call, and the order of events.
fn follow(folder: &Path, seed: u64) {
    let mut state = seed;
    let mut company = Company::new(folder);
    let mut seeds = Vec::new();
    while company.callers.len() < CALLS || below(&mut state, 40) > 0 {
        let caller = below(&mut state, company.callers.len());
        let is_there = company.callers.get(caller).is_some_and(|c| !c.left);
        match below(&mut state, 12) {
            0..3 if company.callers.len() < CALLS => {
                let seed = ken_random::next(&mut state);
                seeds.push(seed);
                company.begin(jobs(&mut { seed }));
            }
            // Of those that never read, two in three.
            3..6 if is_there && !caller.is_multiple_of(3) => company.read(caller),
            6 if is_there && below(&mut state, 3) == 0 => {
                company.callers[caller].stays = false;
                company.leave(caller);
            }
            7 if is_there && below(&mut state, 3) == 0 => {
                company.callers[caller].stays = false;
                let place = Place {
                    call: caller as u64,
                    request: below(&mut state, 3),
                };
                let sample = (below(&mut state, 2) == 0).then(|| below(&mut state, 3));
                company.tell(Order::Cancel { place, sample });
            }
            _ => company.go_round(),
        }
    }
    company.finish();
    let mut stayed = 0;
    for (place, seed) in seeds.iter().enumerate() {
        if company.callers[place].stays {
            stayed += 1;
            let mut alone = Company::new(folder);
            alone.begin(jobs(&mut { *seed }));
            alone.finish();
            assert_eq!(company.callers[place].missing, 0);
            assert_eq!(company.callers[place].results, alone.callers[0].results);
        }
    }
    assert!(stayed > 0);
    for caller in 0..CALLS {
        if !company.callers[caller].left {
            company.leave(caller);
        }
    }
    company.go_round();
    let batch = &company.batch;
    assert!(batch.calls.is_empty() && batch.active.is_empty());
    assert!(batch.branches.is_empty() && batch.readings.is_empty());
    assert_eq!(batch.held(), batch.prefixes.tokens(|_| true));
    assert!(batch.held() <= BUDGET / 4, "{}", batch.held());
    assert_eq!(company.seats.load(Ordering::Relaxed), 0);
}

#[test]
fn whatever_the_order_everybody_gets_what_is_theirs_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    drop(decoder(folder.path(), &LoadOptions::default()));
    for seed in 0..30 {
        let followed = std::panic::catch_unwind(|| follow(folder.path(), seed));
        assert!(followed.is_ok(), "seed {seed}");
    }
}

/// How many rounds a call of one request takes, and its texts.
fn alone(folder: &Path, samples: usize, sampling: Sampling, most: usize) -> (usize, Results) {
    let mut company = Company::new(folder);
    let mut job = job(prompt(3, 40), samples, most);
    if let Work::Write { sampling: own, .. } = &mut job.work {
        *own = sampling;
    }
    company.begin(vec![job]);
    company.finish();
    (company.round, company.callers.remove(0).results)
}

#[test]
fn drafts_save_passes_and_change_no_text() {
    let folder = tempfile::tempdir().unwrap();
    drop(decoder(folder.path(), &LoadOptions::default()));
    let mut saved = 0;
    for seed in 0..20 {
        let sampling = match seed {
            0 => Sampling::Greedy,
            _ => Sampling::at(0.2, seed),
        };
        let (rounds, drafted) = alone(folder.path(), 1, sampling, 20);
        // This many texts leave no rows for drafts.
        let (_, plain) = alone(folder.path(), DRAFT_ROWS, sampling, 20);
        assert_eq!(drafted[&(0, 0)], plain[&(0, 0)]);
        let tokens = drafted[&(0, 0)].split_whitespace().count();
        assert!(rounds <= 24, "{rounds}");
        saved += tokens.saturating_sub(rounds);
    }
    assert!(saved > 0);
}

#[test]
fn what_was_written_before_is_drafted() {
    let folder = tempfile::tempdir().unwrap();
    drop(decoder(folder.path(), &LoadOptions::default()));
    let mut company = Company::new(folder.path());
    let mut rounds = |_| {
        let before = company.round;
        let mut job = job(prompt(3, 40), 1, 33);
        job.shared = vec![39];
        company.begin(vec![job]);
        company.finish();
        company.round - before
    };
    let [first, again] = [0, 1].map(&mut rounds);
    assert!(2 * again < first, "{first} {again}");
    assert_eq!(company.callers[0].results, company.callers[1].results);
}
