//! A headless Chromium used like a person's: elements are found by their role and name, as a screen reader announces
//! them, and clicked and typed into where they are. Its DevTools protocol drives it over a pipe; see
//! <https://chromedevtools.github.io/devtools-protocol/>.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// One browser at a time: several of them slow each other down.
static ONE: Mutex<()> = Mutex::new(());

/// A browser with one page.
pub(super) struct Chromium {
    child: Child,
    /// `None` when it is to end.
    calls: Option<ChildStdin>,
    told: Receiver<Value>,
    session: String,
    last: u64,
    /// What went wrong in the page: exceptions, refused content, failed loads.
    wrong: Vec<String>,
    _profile: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

/// The program: the one that `KEN_TEST_CHROMIUM` names, or one of the usual names. A test that needs it fails without
/// it.
fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("KEN_TEST_CHROMIUM") {
        return named.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let found = std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|program| program.is_file());
    found.expect(
        "the console is tried in a browser: install chromium (Debian: apt-get install chromium), \
         or name it in KEN_TEST_CHROMIUM",
    )
}

impl Chromium {
    /// Starts a browser of a size in pixels.
    pub(super) fn start(width: u32, height: u32) -> Self {
        let program = program();
        let alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let profile = tempfile::tempdir().unwrap();
        let user_data = format!("--user-data-dir={}", profile.path().display());
        // It reads its calls from descriptor 3 and answers on 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"])
            .arg(program)
            .args(["--headless=new", "--remote-debugging-pipe", &user_data])
            .args(["--no-first-run", "--disable-gpu", "--disable-dev-shm-usage"])
            .arg("--hide-scrollbars")
            .args(["--disable-background-networking", "--disable-extensions"])
            // It shows nothing but pages of the tests, and may be run by root in a container.
            .args(["--no-sandbox", "about:blank"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let calls = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let (tell, told) = channel();
        std::thread::spawn(move || {
            for message in answers.split(0).map_while(Result::ok) {
                let value = serde_json::from_slice(&message);
                if value.is_ok_and(|value: Value| tell.send(value).is_err()) {
                    return;
                }
            }
        });
        let mut browser = Self {
            child,
            calls,
            told,
            session: String::new(),
            last: 0,
            wrong: Vec::new(),
            _profile: profile,
            _alone: alone,
        };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attached = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", &attached);
        browser.session = session["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "DOM", "Accessibility"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser.resize(width, height);
        browser
    }

    /// Calls a method of the protocol and waits for its result.
    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        match self.attempt(method, parameters) {
            Ok(result) => result,
            Err(error) => panic!("{method}: {error}"),
        }
    }

    fn attempt(&mut self, method: &str, parameters: &Value) -> Result<Value, String> {
        self.last += 1;
        let mut call = json!({"id": self.last, "method": method, "params": parameters});
        if !self.session.is_empty() {
            call["sessionId"] = json!(self.session);
        }
        let mut bytes = serde_json::to_vec(&call).unwrap();
        bytes.push(0);
        self.calls.as_mut().unwrap().write_all(&bytes).unwrap();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let message = self.told.recv_timeout(left);
            let mut message = message.map_err(|_| "the browser does not answer".to_owned())?;
            if message["id"] == self.last {
                return match message.get("error") {
                    Some(error) => Err(error.to_string()),
                    None => Ok(message["result"].take()),
                };
            }
            self.note(&message);
        }
    }

    /// Records what went wrong in the page.
    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => {
                self.wrong.push(parameters["exceptionDetails"].to_string());
            }
            Some("Log.entryAdded") if parameters["entry"]["level"] == "error" => {
                self.wrong.push(parameters["entry"].to_string());
            }
            _ => {}
        }
    }

    /// What went wrong since the last call, except for responses with the expected statuses.
    pub(super) fn wrong(&mut self, expected: &[u16]) -> Vec<String> {
        // Everything that was sent before this has arrived by now.
        self.js("null");
        let mut wrong = std::mem::take(&mut self.wrong);
        wrong.retain(|entry| {
            let mut statuses = expected.iter();
            !statuses.any(|status| entry.contains(&format!("with a status of {status}")))
        });
        wrong
    }

    /// Sets the size of the page in pixels.
    pub(super) fn resize(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Sets the system's colors to dark or light.
    pub(super) fn dark(&mut self, is_dark: bool) {
        let value = if is_dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": value}]);
        self.call("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    /// Goes to an address.
    pub(super) fn visit(&mut self, address: &str) {
        self.call("Page.navigate", &json!({"url": address}));
        self.until("the page is loaded", "document.readyState === 'complete'");
    }

    /// The value of an expression in the page.
    pub(super) fn js(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut result = self.call("Runtime.evaluate", &asked);
        assert!(
            result.get("exceptionDetails").is_none(),
            "{expression}: {result}"
        );
        result["result"]["value"].take()
    }

    /// Waits until an expression is true.
    pub(super) fn until(&mut self, what: &str, expression: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.js(&format!("Boolean({expression})")) != true {
            if Instant::now() > deadline {
                let shown = self.text();
                panic!("it never happened: {what}\n{shown}\n{:?}", self.wrong);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The visible text.
    pub(super) fn text(&mut self) -> String {
        self.js("document.body.innerText")
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Waits until a text is visible.
    pub(super) fn sees(&mut self, text: &str) {
        let quoted = json!(text);
        let expression = format!("document.body.innerText.includes({quoted})");
        self.until(&format!("{text:?} is seen"), &expression);
    }

    /// The number in the document of the first element with a role and a name.
    fn find(&mut self, role: &str, name: &str) -> u64 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let document = self.call("DOM.getDocument", &json!({"depth": 0}));
            let asked = json!({
                "nodeId": document["root"]["nodeId"], "role": role, "accessibleName": name,
            });
            // The document may change while it is searched.
            let answer = self.attempt("Accessibility.queryAXTree", &asked);
            let answer = answer.unwrap_or_default();
            let nodes = answer["nodes"].as_array().cloned().unwrap_or_default();
            let told = nodes.iter().find(|node| node["ignored"] != true);
            if let Some(node) = told.and_then(|node| node["backendDOMNodeId"].as_u64()) {
                return node;
            }
            if Instant::now() > deadline {
                let shown = self.text();
                panic!("there is no {role} {name:?}\n{shown}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for an element of a role and a name.
    pub(super) fn hears(&mut self, role: &str, name: &str) {
        self.find(role, name);
    }

    /// Clicks an element.
    pub(super) fn click(&mut self, role: &str, name: &str) {
        let node = self.find(role, name);
        self.call(
            "DOM.scrollIntoViewIfNeeded",
            &json!({"backendNodeId": node}),
        );
        let model = self.call("DOM.getBoxModel", &json!({"backendNodeId": node}));
        let corner = |place: usize| model["model"]["content"][place].as_f64().unwrap();
        let (x, y) = ((corner(0) + corner(4)) / 2.0, (corner(1) + corner(5)) / 2.0);
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", &event);
        }
    }

    /// Moves the keyboard focus to an element.
    pub(super) fn focus(&mut self, role: &str, name: &str) {
        let node = self.find(role, name);
        self.call("DOM.focus", &json!({"backendNodeId": node}));
    }

    /// Writes a text into a field, replacing what is there.
    pub(super) fn write(&mut self, role: &str, name: &str, text: &str) {
        self.focus(role, name);
        self.js("document.activeElement.select()");
        self.call("Input.insertText", &json!({"text": text}));
    }

    /// Chooses an option, by its value.
    pub(super) fn choose(&mut self, name: &str, value: &str) {
        self.focus("combobox", name);
        let value = json!(value);
        let chosen = self.js(&format!(
            "{{ const field = document.activeElement; field.value = {value}; \
             field.dispatchEvent(new Event('change', {{bubbles: true}})); field.value }}"
        ));
        assert_eq!(chosen, value);
    }

    /// Makes downloads go to a folder.
    pub(super) fn save_to(&mut self, folder: &Path) {
        let kept = json!({"behavior": "allow", "downloadPath": folder});
        self.call("Page.setDownloadBehavior", &kept);
    }

    /// Chooses files, in the field that a label is for.
    pub(super) fn choose_files(&mut self, label: &str, files: &[&Path]) {
        let named = format!("(one) => one.innerText.trim() === {}", json!(label));
        let labelled = format!("[...document.querySelectorAll('label')].find({named})");
        self.until(
            &format!("{label} is there"),
            &format!("{labelled}?.control"),
        );
        let asked = json!({"expression": format!("{labelled}.control")});
        let field = self.call("Runtime.evaluate", &asked);
        let field = &field["result"]["objectId"];
        self.call(
            "DOM.setFileInputFiles",
            &json!({"objectId": field, "files": files}),
        );
    }

    /// Drops files or folders onto an element that a selector finds.
    pub(super) fn drop_files(&mut self, selector: &str, files: &[&Path]) {
        self.until(
            selector,
            &format!("document.querySelector({})", json!(selector)),
        );
        let center = self.js(&format!(
            "{{ const one = document.querySelector({}); one.scrollIntoView({{block: 'center'}}); \
             const {{x, y, width, height}} = one.getBoundingClientRect(); [x + width / 2, y + height / 2] }}",
            json!(selector)
        ));
        for kind in ["dragEnter", "dragOver", "drop"] {
            let data = json!({"items": [], "files": files, "dragOperationsMask": 1});
            let event = json!({"type": kind, "x": center[0], "y": center[1], "data": data});
            self.call("Input.dispatchDragEvent", &event);
        }
    }

    /// Presses a key, such as `Tab`, `Enter` or `Escape`.
    pub(super) fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            "ArrowLeft" => (37, ""),
            _ => panic!("{key}"),
        };
        for kind in ["keyDown", "keyUp"] {
            let event = json!({
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text,
            });
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Every element that can be operated and has no name, as it is in the document.
    pub(super) fn nameless(&mut self) -> Vec<String> {
        const OPERATED: [&str; 8] = [
            "button",
            "link",
            "textbox",
            "searchbox",
            "combobox",
            "checkbox",
            "spinbutton",
            "slider",
        ];
        let tree = self.call("Accessibility.getFullAXTree", &json!({}));
        let nodes = tree["nodes"].as_array().unwrap();
        let operated = nodes.iter().filter(|node| {
            let role = node["role"]["value"].as_str().unwrap_or_default();
            node["ignored"] != true && OPERATED.contains(&role)
        });
        let nameless = operated.filter(|node| {
            node["name"]["value"]
                .as_str()
                .unwrap_or_default()
                .is_empty()
        });
        nameless.map(ToString::to_string).collect()
    }

    /// Saves a picture of the whole page, if `KEN_TEST_PICTURES` names a folder.
    pub(super) fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("KEN_TEST_PICTURES") else {
            return;
        };
        let asked = json!({"captureBeyondViewport": true});
        let picture = self.call("Page.captureScreenshot", &asked);
        let bytes = STANDARD.decode(picture["data"].as_str().unwrap()).unwrap();
        let path = Path::new(&folder).join(format!("{name}.png"));
        std::fs::write(path, bytes).unwrap();
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // It ends itself, with all of its processes, when its input closes.
        self.calls = None;
        let deadline = Instant::now() + Duration::from_secs(5);
        while Instant::now() < deadline {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
