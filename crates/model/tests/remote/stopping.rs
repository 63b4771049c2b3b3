//! A stop takes effect at once, whatever is in progress; stopping a question ends its calls and no others.

use std::io::Read;
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ken_language::{
    CancelToken, Embedder, Finish, GenerateRequest, LanguageModel, ModelError, Prompt, Role,
    ScoreRequest, bound_embedder, bound_model,
};
use ken_model::remote::{Endpoint, RemoteEmbedder, RemoteModel};
use ken_testing::{fails, with};
use serde_json::json;

use super::faults::{endless, event, greedy, model_list, prompt, serving, text_of};
use super::loopback::{Reply, Request, Server};

/// How soon work must end after a stop, on a machine that is busy with other tests.
const AT_ONCE: Duration = Duration::from_secs(2);

/// A model at a server that responds by a script once the model is connected, and the flag that stops
/// it.
fn connected(
    script: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> (Server, RemoteModel, Arc<AtomicBool>) {
    let stop = Arc::new(AtomicBool::new(false));
    let server = serving(script);
    let model = RemoteModel::connect(with!(Endpoint::new(&server.url),
        cancel: CancelToken::raised_by(stop.clone())))
    .unwrap();
    (server, model, stop)
}

/// Runs some work that is stopped once it hangs.
fn stopped<T>(stop: &AtomicBool, work: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        let stopper = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::SeqCst);
            Instant::now()
        });
        let result = work();
        let stopped = stopper.join().unwrap();
        assert!(stopped.elapsed() < AT_ONCE, "{:?}", stopped.elapsed());
        result
    })
}

fn silence() -> Reply {
    Reply::Silence(Duration::from_secs(60))
}

#[test]
fn while_an_endpoint_is_silent() {
    let (_server, model, stop) = connected(|_| silence());
    let error = stopped(&stop, || text_of(&model, &prompt())).unwrap_err();
    assert_eq!(error.kind(), "interrupted");
    let message = error.to_string();
    assert!(message.starts_with("stopped while waiting for 127.0.0.1:"));
}

#[test]
fn while_a_stream_is_silent() {
    let (_server, model, stop) = connected(|_| Reply::Events {
        events: vec![event("x").to_string(); 2],
        pause: Duration::from_secs(20),
        whole: true,
    });
    fails!(stopped(&stop, || text_of(&model, &prompt())) => "interrupted");
}

#[test]
fn while_a_stream_goes_on() {
    let (server, model, stop) = connected(|_| endless());
    fails!(stopped(&stop, || text_of(&model, &prompt())) => "interrupted");
    server.wait_for_disconnect();
}

#[test]
fn while_waiting_to_retry() {
    let (server, model, stop) =
        connected(|_| Reply::refusal(503, "loading").with_header("Retry-After: 60"));
    let before = server.requests("completions").len();
    fails!(stopped(&stop, || text_of(&model, &prompt())) => "interrupted");
    assert_eq!(server.requests("completions").len(), before + 1);
}

#[test]
fn within_a_batch_of_which_finished_samples_are_kept() {
    let (server, model, stop) = connected(|request| {
        let prompt = request.body["prompt"].as_str().unwrap();
        if prompt.ends_with("Q: 1\nA:") || prompt.ends_with("Q: 4\nA:") {
            let choice = json!({"text": " b", "finish_reason": "stop"});
            return Reply::json(&json!({"choices": [choice]}));
        }
        silence()
    });
    let prompts: Vec<_> = (0..20)
        .map(|number| {
            let input = format!("Q: {number}\nA:");
            Prompt { input, ..prompt() }
        })
        .collect();
    let options = greedy();
    let requests: Vec<_> = prompts
        .iter()
        .map(|prompt| GenerateRequest::new(prompt, 1, &options))
        .collect();
    let before = server.requests("completions").len();
    let written = stopped(&stop, || {
        model.generate(&requests, &mut |_| ControlFlow::Continue(()))
    });
    for (index, samples) in written.unwrap().iter().enumerate() {
        let expected = match index {
            1 | 4 => (" b", Finish::End),
            _ => ("", Finish::Cancelled),
        };
        assert_eq!(samples.len(), 1);
        assert_eq!((samples[0].text.as_str(), samples[0].finish), expected);
    }
    let asked = server.requests("completions").len() - before;
    assert!(asked < 12, "{asked} requests, though 8 at a time");
}

#[test]
fn and_the_connection_is_closed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // This ends when the client closes the connection.
        stream.read_to_end(&mut Vec::new()).unwrap();
        Instant::now()
    });
    let stop = Arc::new(AtomicBool::new(false));
    let endpoint = with!(Endpoint::new(&url), cancel: CancelToken::raised_by(stop.clone()));
    fails!(stopped(&stop, || endpoint.reach()) => "interrupted");
    let reached = Instant::now();
    let closed = server.join().unwrap();
    assert!(closed.saturating_duration_since(reached) < AT_ONCE);
}

/// A model and an embedder that fall silent once they are connected.
fn falling_silent() -> (Server, Arc<dyn LanguageModel>, Arc<dyn Embedder>) {
    let server = Server::start(|request| {
        let example = request.body.to_string().contains("The sky is");
        match request.path.as_str() {
            "/v1/models" => model_list(&["tiny"]),
            "/v1/embeddings" if example => Reply::json(&json!({"data": [{"embedding": [1.0]}]})),
            "/v1/completions" if example => {
                let tokens = json!([null, {"1": {"logprob": -1.0, "decoded_token": "x"}}]);
                Reply::json(&json!({"choices": [{"text": "x", "prompt_logprobs": tokens}]}))
            }
            "/tokenize" => Reply::refusal(404, "Not Found"),
            _ => silence(),
        }
    });
    let model = RemoteModel::connect(Endpoint::new(&server.url)).unwrap();
    let embedder = RemoteEmbedder::connect(Endpoint::new(&server.url)).unwrap();
    (server, Arc::new(model), Arc::new(embedder))
}

type Work = fn(&dyn LanguageModel, &dyn Embedder) -> Result<(), ModelError>;

#[test]
fn whatever_a_bound_model_waits_for_ends_with_its_question() {
    let works: [Work; 4] = [
        |model, _| text_of(model, &prompt()).map(drop),
        |model, _| {
            let (prompt, options) = (prompt(), greedy());
            let request = GenerateRequest::new(&prompt, 3, &options);
            let written = model.generate(&[request], &mut |_| ControlFlow::Continue(()))?;
            assert!(
                written[0]
                    .iter()
                    .all(|generation| generation.finish == Finish::Cancelled)
            );
            // Samples that were complete would be kept; the next call fails.
            model.count_tokens("x").map(drop)
        },
        |model, _| {
            let prompt = prompt();
            let request = ScoreRequest::new(&prompt, &[" yes", " no"]);
            model.score(&[request]).map(drop)
        },
        |_, embedder| embedder.embed(&["Who?"; 200], Role::Query).map(drop),
    ];
    let (server, model, embedder) = falling_silent();
    let bound = |token: &CancelToken| {
        let model = bound_model(Arc::clone(&model), token);
        (model, bound_embedder(Arc::clone(&embedder), token))
    };
    for work in works {
        let closed = server.disconnected();
        let left = Arc::new(AtomicBool::new(false));
        let (model, embedder) = bound(&CancelToken::raised_by(Arc::clone(&left)));
        fails!(stopped(&left, || work(model.as_ref(), embedder.as_ref())) => "interrupted");
        let began = Instant::now();
        let (model, embedder) = bound(&CancelToken::default().by(began + AT_ONCE / 8));
        fails!(work(model.as_ref(), embedder.as_ref()) => "interrupted");
        assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
        while server.disconnected() < closed + 2 {
            assert!(began.elapsed() < AT_ONCE * 5, "the requests stay open");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    // Another question is answered during and after that.
    let (model, _) = bound(&CancelToken::default());
    let sky = with!(prompt(), input: "The sky is".to_owned());
    assert_eq!(text_of(model.as_ref(), &sky).unwrap(), "x");
}
