//! A proxy between the driver and a server that damages writes by a plan.
//!
//! Everything else passes unchanged: the driver's monitoring of the server, reads, commits.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use bucket_mongo::mongodb::{Client, options::ClientOptions};
use tokio::{
    io::AsyncWriteExt,
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
    task::{JoinHandle, JoinSet},
    time,
};

use super::{
    frame::Frame,
    plan::{Fault, Plan},
};

/// The commands that are damaged.
const WRITES: [&str; 2] = ["update", "insert"];
/// After this long without a write, no writer is about to send one again.
const QUIET: Duration = Duration::from_millis(2_500);
const POLL_PAUSE: Duration = Duration::from_millis(25);

/// A proxy on a port of its own. It ends, with its connections, when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    server: String,
    plan: Mutex<Plan>,
    /// Whether the server is unreachable.
    is_away: watch::Sender<bool>,
    /// Whether it says of itself that it is a router, if a client asks.
    is_router: AtomicBool,
    /// The number of writes from clients.
    writes: AtomicU64,
    /// Those that the server may still receive or execute.
    under_way: AtomicU64,
}

impl Proxy {
    /// Starts a proxy for the server at this address.
    ///
    /// # Panics
    ///
    /// If there is no free port.
    pub async fn start(server: impl Into<String>, plan: Plan) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a free port");
        let port = listener.local_addr().map(|address| address.port());
        let shared = Arc::new(Shared {
            server: server.into(),
            plan: Mutex::new(plan),
            is_away: watch::Sender::new(false),
            is_router: AtomicBool::new(false),
            writes: AtomicU64::new(0),
            under_way: AtomicU64::new(0),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self {
            port: port.expect("a bound port"),
            shared,
            accepting,
        }
    }

    /// A client that reaches the server only through this proxy.
    ///
    /// # Panics
    ///
    /// Never: the connection string is valid.
    pub async fn client(&self) -> Client {
        self.client_with("").await
    }

    /// A client with further options in its connection string, each after an ampersand.
    ///
    /// # Panics
    ///
    /// If the options make the connection string invalid.
    pub async fn client_with(&self, options: &str) -> Client {
        let options = self.client_options(options).await;
        Client::with_options(options).expect("a client")
    }

    /// The options of such a client.
    ///
    /// # Panics
    ///
    /// If they make the connection string invalid.
    pub async fn client_options(&self, options: &str) -> ClientOptions {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let uri =
            format!("mongodb://{address}/?directConnection=true&heartbeatFrequencyMS=500{options}");
        ClientOptions::parse(uri).await.expect("options")
    }

    /// Cuts all connections, and closes each new one at once.
    pub fn go_away(&self) {
        self.shared.is_away.send_replace(true);
    }

    /// Lets clients reach the server again.
    pub fn come_back(&self) {
        self.shared.is_away.send_replace(false);
    }

    /// Answers as the router of a sharded cluster does, if a client asks what the server is. The driver's own monitoring is not
    /// changed.
    pub fn be_a_router(&self) {
        self.shared.is_router.store(true, Ordering::SeqCst);
    }

    /// Switches to another plan.
    pub fn set_plan(&self, plan: Plan) {
        *self.shared.plan() = plan;
    }

    /// Stops the damage, and waits until no write is in flight or about to be sent again.
    pub async fn calm_down(&self) {
        self.shared.plan().stop();
        let writes = || self.shared.writes.load(Ordering::SeqCst);
        let mut seen = writes();
        let mut since = time::Instant::now();
        while since.elapsed() < QUIET {
            time::sleep(POLL_PAUSE).await;
            if self.shared.under_way.load(Ordering::SeqCst) > 0 || writes() != seen {
                seen = writes();
                since = time::Instant::now();
            }
        }
    }

    /// How many faults of each kind the current plan has caused.
    #[must_use]
    pub fn injected(&self) -> BTreeMap<Fault, u64> {
        self.shared.plan().injected().clone()
    }

    /// How many writes have come from clients.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.shared.writes.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().expect("no panic under the lock")
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    let mut is_away = shared.is_away.subscribe();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((client, _)) = accepted else { return };
                if !*is_away.borrow() {
                    connections.spawn(connect(client, Arc::clone(&shared)));
                }
                while connections.try_join_next().is_some() {}
            }
            _ = is_away.changed() => {
                if *is_away.borrow_and_update() {
                    connections.abort_all();
                }
            }
        }
    }
}

/// A write that the server may still receive or execute.
struct UnderWay(Arc<Shared>);

impl UnderWay {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.writes.fetch_add(1, Ordering::SeqCst);
        shared.under_way.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(shared))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What to do with the replies to writes.
type Fates = Arc<Mutex<HashMap<i32, (Option<Fault>, UnderWay)>>>;

/// The questions of clients to which a router answers.
type Questions = Arc<Mutex<HashSet<i32>>>;

/// Why a direction ended.
enum End {
    Closed,
    /// The client must be cut off now, and the request delivered later.
    Ghost(Frame, Duration, UnderWay),
}

async fn connect(client: TcpStream, shared: Arc<Shared>) {
    let Ok(server) = TcpStream::connect(&shared.server).await else {
        return;
    };
    // Delays of small messages by the system would be another fault.
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let (fates, questions) = (Fates::default(), Questions::default());
    let end = {
        let requests = requests(
            &mut from_client,
            &mut to_server,
            &shared,
            (&fates, &questions),
        );
        let replies = replies(&mut from_server, &mut to_client, (&fates, &questions));
        let mut replies = std::pin::pin!(replies);
        tokio::select! {
            end = requests => {
                // The client left by itself: the server may still execute what it received.
                while matches!(end, End::Closed) && !fates_of(&fates).is_empty() {
                    let () = (&mut replies).await;
                    fates_of(&fates).clear();
                }
                end
            }
            () = &mut replies => End::Closed,
        }
    };
    if let End::Ghost(frame, lateness, _under_way) = end {
        drop((from_client, to_client));
        time::sleep(lateness).await;
        if to_server.write_all(frame.bytes()).await.is_ok() {
            while let Ok(reply) = Frame::read(&mut from_server).await {
                if reply.response_to() == frame.request_id() {
                    break;
                }
            }
        }
    }
}

fn fates_of(fates: &Fates) -> MutexGuard<'_, HashMap<i32, (Option<Fault>, UnderWay)>> {
    fates.lock().expect("no panic under the lock")
}

/// Passes requests on, until the client or a fault closes the connection.
async fn requests(
    client: &mut OwnedReadHalf,
    server: &mut OwnedWriteHalf,
    shared: &Arc<Shared>,
    (fates, questions): (&Fates, &Questions),
) -> End {
    while let Ok(frame) = Frame::read(client).await {
        // The driver's own have no session.
        let asks = frame.command() == Some("hello") && frame.contains(b"lsid");
        if asks && shared.is_router.load(Ordering::SeqCst) {
            let mut questions = questions.lock().expect("no panic under the lock");
            questions.insert(frame.request_id());
        }
        if !frame
            .command()
            .is_some_and(|command| WRITES.contains(&command))
        {
            if server.write_all(frame.bytes()).await.is_err() {
                break;
            }
            continue;
        }
        let under_way = UnderWay::new(shared);
        let (fault, lateness) = {
            let mut plan = shared.plan();
            let fault = plan.draw();
            (fault, fault.map(|fault| plan.lateness(fault)))
        };
        let lateness = lateness.unwrap_or_default();
        match fault {
            Some(Fault::CutBefore) => break,
            Some(Fault::HalfRequest) => {
                let _ = server.write_all(frame.half()).await;
                break;
            }
            Some(Fault::Ghost) => return End::Ghost(frame, lateness, under_way),
            Some(Fault::Delay) => time::sleep(lateness).await,
            Some(Fault::CutAfter | Fault::HalfReply | Fault::Retried) | None => {}
        }
        fates_of(fates).insert(frame.request_id(), (fault, under_way));
        let times = if fault == Some(Fault::Retried) { 2 } else { 1 };
        for _ in 0..times {
            if server.write_all(frame.bytes()).await.is_err() {
                return End::Closed;
            }
        }
    }
    End::Closed
}

/// Passes replies on, until the server or a fault closes the connection.
async fn replies(
    server: &mut OwnedReadHalf,
    client: &mut OwnedWriteHalf,
    (fates, questions): (&Fates, &Questions),
) {
    while let Ok(mut frame) = Frame::read(server).await {
        let fate = fates_of(fates).remove(&frame.response_to());
        let is_answer = {
            let mut questions = questions.lock().expect("no panic under the lock");
            questions.remove(&frame.response_to())
        };
        if is_answer {
            frame = frame.with_field("msg", "isdbgrid");
        }
        let bytes = match fate {
            Some((Some(Fault::Retried), under_way)) => {
                fates_of(fates).insert(frame.response_to(), (None, under_way));
                continue;
            }
            Some((Some(Fault::CutAfter), _)) => return,
            Some((Some(Fault::HalfReply), _)) => frame.half(),
            _ => frame.bytes(),
        };
        let sent = client.write_all(bytes).await;
        if sent.is_err() || bytes.len() < frame.bytes().len() {
            return;
        }
    }
}
