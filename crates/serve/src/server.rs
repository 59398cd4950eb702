//! The server: its address, its lifetime, and its description of the recording.

use crate::changes::ChangesReceiver;
use crate::findings::Findings;
use crate::frames::FrameLists;
use crate::guard::Guard;
use crate::kinds;
use crate::pending::{Phase, Preparation, failure, is_preparing};
use crate::queries::Worker;
use crate::routes::{Access, Activity, App, data, routes};
use crate::{Prepared, ServeError, Tracks};
use engine::{Machine, Session};
use model::{CpuState, ThreadState};
use serde_json::{Value as Json, json};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use web::{Caller, Connections, Limits, listen};

/// Options of the server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen on; not loopback only if the user requested it.
    pub listen: IpAddr,
    /// The port; 0 for any free port, of the usual ones if there is one.
    pub port: u16,
    /// Exit after this time without requests.
    pub idle: Option<Duration>,
    /// Make a second address that allows only reading and ends after this time.
    pub share: Option<Duration>,
}

/// A trace with everything needed to show it.
pub struct Trace {
    /// The open trace.
    pub session: Session,
    /// The order of the threads' tracks.
    pub tracks: Tracks,
    /// The levels of detail.
    pub levels: Prepared,
}

/// A server that is listening; it answers once [`Self::run`] is called.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    at: SocketAddr,
    access: Arc<Access>,
    phase: watch::Receiver<Phase>,
    idle: Option<Duration>,
}

impl Server {
    /// Starts listening, for a trace that is still being prepared: until [`Preparation::ready`], pages show the progress.
    ///
    /// # Errors
    /// The address is in use or does not belong to this machine, or the system does not provide threads or random numbers.
    pub fn listen(options: &Options) -> Result<(Self, Preparation), ServeError> {
        let start = |e: &dyn std::fmt::Display| ServeError::Start(e.to_string());
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().max_blocking_threads(2).build().map_err(|e| start(&e))?;
        let at = SocketAddr::new(options.listen, options.port);
        let listener = runtime.block_on(async {
            let mut usual = USUAL_PORTS.filter(|_| at.port() == 0).map(|port| SocketAddr::new(at.ip(), port));
            usual.find_map(|usual| listen(usual).ok()).map_or_else(|| listen(at), Ok)
        });
        let listener = listener.map_err(|why| ServeError::Listen { at, why })?;
        let at = listener.local_addr().map_err(|e| start(&e))?;
        let guard = Guard::new(at.port(), !at.ip().is_loopback(), options.share).map_err(|e| start(&e))?;
        let access = Arc::new(Access { guard, activity: Activity::new() });
        let (preparation, phase) = Preparation::new();
        Ok((Self { runtime, listener, at, access, phase, idle: options.idle }, preparation))
    }

    /// Starts listening.
    ///
    /// # Errors
    /// As [`Self::listen`].
    pub fn bind(session: Session, tracks: Tracks, levels: Prepared, options: &Options) -> Result<Self, ServeError> {
        let (server, preparation) = Self::listen(options)?;
        preparation.ready(Trace { session, tracks, levels }, None)?;
        Ok(server)
    }

    /// Starts listening, for two traces; what changed between them may come later.
    ///
    /// # Errors
    /// As [`Self::listen`].
    pub fn bind_two(
        first: Trace,
        second: Trace,
        changes: ChangesReceiver,
        options: &Options,
    ) -> Result<Self, ServeError> {
        let (server, preparation) = Self::listen(options)?;
        preparation.ready(first, Some((second, changes)))?;
        Ok(server)
    }

    /// The address on which the server listens.
    #[must_use]
    pub fn at(&self) -> SocketAddr {
        self.at
    }

    /// The address for a browser on this machine, with the token.
    #[must_use]
    pub fn address(&self) -> String {
        address_of(loopback(self.at), self.access.guard.token())
    }

    /// The address that allows only reading and ends, if one was requested. It names this machine as others reach it, if they can.
    #[must_use]
    pub fn shared_address(&self) -> Option<String> {
        let at = if self.at.ip().is_unspecified() { outward(self.at).unwrap_or(loopback(self.at)) } else { self.at };
        Some(address_of(at, self.access.guard.shared_token()?))
    }

    /// Answers requests until the idle time is reached, the preparation has failed, or forever.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn run(self) -> Result<(), ServeError> {
        let Self { runtime, listener, access, phase, idle, .. } = self;
        runtime.block_on(async move {
            let routes = routes(Arc::clone(&access), phase.clone()).into_make_service_with_connect_info::<Caller>();
            let served = axum::serve(Connections::new(listener, LIMITS), routes);
            let ended = async {
                match idle.map(|idle| idle.as_millis() as u64) {
                    None => std::future::pending().await,
                    Some(idle) => loop {
                        // A preparation may take longer than that.
                        let ago = if is_preparing(&phase) { 0 } else { access.activity.idle_ms() };
                        if ago >= idle {
                            break;
                        }
                        tokio::time::sleep(Duration::from_millis(idle - ago)).await;
                    },
                }
            };
            tokio::select! {
                served = served => served.map_err(|e| ServeError::Start(e.to_string())),
                () = ended => Ok(()),
                () = failure(phase.clone(), || access.activity.has_answered()) => Ok(()),
            }
        })
    }
}

impl Preparation {
    /// Answers from a trace, or from two and what changed between them, from now on.
    ///
    /// # Errors
    /// The system does not provide threads.
    pub fn ready(self, first: Trace, second: Option<(Trace, ChangesReceiver)>) -> Result<(), ServeError> {
        let start = |e: std::io::Error| ServeError::Start(e.to_string());
        let two = second.is_some();
        let first = Arc::new(app(first, two).map_err(start)?);
        let second = match second {
            Some((trace, changes)) => Some((Arc::new(app(trace, two).map_err(start)?), changes)),
            None => None,
        };
        self.done(data(first, second));
        Ok(())
    }
}

fn address_of(at: SocketAddr, token: &str) -> String {
    format!("http://{at}/?token={token}")
}

/// Returns an address that leads to this machine from this machine, even if the server listens on all addresses.
fn loopback(at: SocketAddr) -> SocketAddr {
    match at.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), at.port()),
        IpAddr::V6(ip) if ip.is_unspecified() => SocketAddr::new(Ipv6Addr::LOCALHOST.into(), at.port()),
        _ => at,
    }
}

/// Returns the address from which this machine sends to others. Nothing is sent: connecting a UDP socket only chooses the route.
fn outward(at: SocketAddr) -> Option<SocketAddr> {
    // Addresses reserved for documentation, which are routed as any other.
    let (any, far) = if at.is_ipv4() { ("0.0.0.0:0", "192.0.2.1:9") } else { ("[::]:0", "[2001:db8::1]:9") };
    let socket = std::net::UdpSocket::bind(any).ok()?;
    socket.connect(far).ok()?;
    let from = socket.local_addr().ok()?.ip();
    (!from.is_unspecified() && !from.is_loopback()).then_some(SocketAddr::new(from, at.port()))
}

/// A browser opens six connections; the maximum is as many as a user may usually open files.
const LIMITS: Limits = Limits {
    connections: 1024,
    request: Duration::from_secs(10),
    idle: Duration::from_secs(60),
    grace: Duration::from_millis(50),
};

/// Creates the data and threads that answer for a trace.
fn app(trace: Trace, two: bool) -> std::io::Result<App> {
    let Trace { session, tracks, levels } = trace;
    let about = about(&session, &tracks, &levels, two).to_string();
    let session = Arc::new(session);
    let lookups = Worker::start(Arc::clone(&session), "lookups", 32)?;
    let computations = Worker::start(session, "computations", 8)?;
    Ok(App {
        levels,
        tracks,
        about,
        lookups,
        computations,
        findings: Findings::default(),
        frames: FrameLists::default(),
    })
}

/// Returns the description of the recording; `two` means that two traces are shown.
pub(crate) fn about(session: &Session, tracks: &Tracks, levels: &Prepared, two: bool) -> Json {
    let summary = session.summary();
    let name = session.path().canonicalize().ok();
    let name = name.as_deref().unwrap_or(session.path()).file_name().map(|n| n.to_string_lossy().into_owned());
    json!({
        "name": name,
        "version": env!("CARGO_PKG_VERSION"),
        "two": two,
        "span_ns": summary.span_ns,
        // Identifies the recording, so that the page finds the settings that it stored for it.
        "stamp": stamp(session),
        "focus": session.facts().focus,
        "threads": tracks.len(),
        "switches": summary.switches,
        "ready_known": summary.ready_known,
        "lost_events": summary.lost_events,
        "model_name": session.machine().model_name,
        "cpus": cpus(session.machine()),
        "thread_states": ThreadState::ALL.map(ThreadState::as_str),
        "cpu_states": CpuState::ALL.map(CpuState::as_str),
        "kinds": kind_infos(session, levels),
        "widths_ns": levels.threads.widths().collect::<Vec<_>>(),
    })
}

/// The ports that are tried before any free one. Browsers keep settings by address and port, so that they are found again at the next
/// run. Linux gives connections higher ports.
const USUAL_PORTS: std::ops::Range<u16> = 24_617..24_625;

/// The trace's number in hexadecimal; empty if it has none.
fn stamp(session: &Session) -> String {
    session.states_stamp().ok().and_then(|stamp| stamp.get(..16).map(str::to_owned)).unwrap_or_default()
}

/// Returns the descriptions of the additional tracks, with the frame budget if one is set.
fn kind_infos(session: &Session, levels: &Prepared) -> Vec<Json> {
    let frames = session.budget().filter(|_| session.frames_of().is_none());
    let all = levels.kinds.iter().map(|(shown, _)| match frames {
        Some(budget) if shown.kind == "frames" => json!(kinds::frames::with_budget(shown, budget.0)),
        _ => json!(shown),
    });
    all.collect()
}

/// Returns the CPUs in the order of their tracks, grouped by package, cluster and core, the fastest cores first.
fn cpus(machine: &Machine) -> Vec<Json> {
    let mut cpus: Vec<_> = machine.cpus.iter().collect();
    cpus.sort_by_key(|c| {
        let class = std::cmp::Reverse(machine.core_class(c.id));
        // A machine may have siblings without core numbers.
        let first = c.siblings.iter().copied().min().map_or(c.id, |sibling| sibling.min(c.id));
        (c.package, class, c.die, c.cluster, c.core, first, c.id)
    });
    let cpu = |c: &&_| {
        let c: &engine::Cpu = c;
        json!({
            "cpu": c.id.0,
            "online": c.online,
            "package": c.package,
            "die": c.die,
            "cluster": c.cluster,
            "core": c.core,
            "siblings": c.siblings.iter().map(|s| s.0).collect::<Vec<_>>(),
            "core_class": machine.core_class(c.id),
            "core_type": machine.core_type(c.id).as_str(),
            "vendor_type": c.vendor_type,
        })
    };
    cpus.iter().map(cpu).collect()
}
