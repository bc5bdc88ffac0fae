//! Open connections, of whatever protocol: how many there may be, in all and from one network, and how long one may do
//! nothing.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::{AsRawFd, RawFd};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use actix_service::{Service, ServiceFactory};
use actix_web::rt::net::TcpStream;
use ipnet::IpNet;
use tokio::time::Instant;

/// Bounds of connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Maximum number of open connections.
    pub most: usize,
    /// Maximum number of open connections from one network (see [`network`]).
    pub per_network: usize,
    /// Networks that only the first bound applies to: this machine, and proxies that stand for many clients.
    pub unlimited: Vec<IpNet>,
    /// Time without a request after which a connection is closed.
    pub idle: Duration,
}

/// The open connections of the server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Connections(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limits: ConnectionLimits,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    total: usize,
    by_network: HashMap<IpAddr, usize>,
}

/// The place of an open connection. It is given back when it is dropped.
#[derive(Debug)]
pub struct Place {
    connections: Connections,
    /// `None` if the connections of its network are not counted.
    network: Option<IpAddr>,
}

/// Returns the network of a client: an IPv4 address, or the /64 network of an IPv6 address, which is the least that one
/// client is assigned.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let prefix = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(prefix))
        }
        address @ IpAddr::V4(_) => address,
    }
}

impl Connections {
    pub fn new(limits: ConnectionLimits) -> Self {
        Self(Arc::new(Shared { limits, open: Mutex::default() }))
    }

    /// Returns the number of open connections.
    #[cfg(test)]
    fn open(&self) -> usize {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner).total
    }

    /// Returns a place for a connection from an address; `None` if there is none left.
    pub fn admit(&self, address: IpAddr) -> Option<Place> {
        let limits = &self.0.limits;
        let address = address.to_canonical();
        let counted = !limits.unlimited.iter().any(|network| network.contains(&address));
        let network = counted.then(|| network(address));
        let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.total >= limits.most {
            return None;
        }
        if let Some(network) = network {
            let count = open.by_network.entry(network).or_default();
            if *count >= limits.per_network {
                return None;
            }
            *count += 1;
        }
        open.total += 1;
        Some(Place { connections: self.clone(), network })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.connections.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.total -= 1;
        if let Some(network) = self.network
            && let Entry::Occupied(mut count) = open.by_network.entry(network)
        {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

/// What happens on a connection.
#[derive(Debug)]
pub struct Activity {
    requests: Cell<usize>,
    idle_since: Cell<Instant>,
    taken_over: Cell<bool>,
}

/// A request in progress on a connection, until its response is sent.
#[derive(Debug)]
pub struct InProgress(Rc<Activity>);

impl Activity {
    fn new() -> Self {
        Self { requests: Cell::new(0), idle_since: Cell::new(Instant::now()), taken_over: Cell::new(false) }
    }

    /// Begins a request, of which a connection may have `most` at once; `None` if it has.
    pub fn begin(self: &Rc<Self>, most: usize) -> Option<InProgress> {
        let requests = self.requests.get();
        if requests >= most {
            return None;
        }
        self.requests.set(requests + 1);
        Some(InProgress(Rc::clone(self)))
    }

    /// Notes that the connection no longer carries requests: the feed watches it from now on.
    pub fn taken_over(&self) {
        self.taken_over.set(true);
    }

    fn is_idle_for(&self, time: Duration) -> bool {
        self.requests.get() == 0 && self.idle_since.get().elapsed() >= time
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        self.0.requests.set(self.0.requests.get().saturating_sub(1));
        self.0.idle_since.set(Instant::now());
    }
}

/// The activities of a thread's connections by file descriptor, by which the layers of the HTTP server can find them.
#[derive(Debug, Clone, Default)]
pub struct Activities(Rc<RefCell<HashMap<RawFd, Rc<Activity>>>>);

impl Activities {
    /// Returns the activity of an open connection.
    pub fn of(&self, connection: &TcpStream) -> Option<Rc<Activity>> {
        self.0.borrow().get(&connection.as_raw_fd()).cloned()
    }

    fn open(&self, connection: &TcpStream) -> Entered {
        let (activities, fd) = (self.clone(), connection.as_raw_fd());
        let activity = Rc::new(Activity::new());
        self.0.borrow_mut().insert(fd, Rc::clone(&activity));
        Entered { activities, fd, activity }
    }
}

/// The entry of an open connection.
struct Entered {
    activities: Activities,
    fd: RawFd,
    activity: Rc<Activity>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut activities = self.activities.0.borrow_mut();
        // The descriptor may already belong to a later connection.
        if activities.get(&self.fd).is_some_and(|activity| Rc::ptr_eq(activity, &self.activity)) {
            activities.remove(&self.fd);
        }
    }
}

/// Serves connections by `inner` within the bounds; others are closed at once.
pub struct Bounded<F> {
    pub connections: Connections,
    pub activities: Activities,
    pub inner: F,
}

/// The service of a thread.
pub struct BoundedService<S> {
    connections: Connections,
    activities: Activities,
    inner: S,
}

impl<F> ServiceFactory<TcpStream> for Bounded<F>
where
    F: ServiceFactory<TcpStream, Config = (), Response = ()>,
    F::Service: 'static,
    F::Future: 'static,
    F::Error: 'static,
{
    type Response = ();
    type Error = F::Error;
    type Config = ();
    type Service = BoundedService<F::Service>;
    type InitError = F::InitError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Service, Self::InitError>>>>;

    fn new_service(&self, (): ()) -> Self::Future {
        let (connections, activities) = (self.connections.clone(), self.activities.clone());
        let inner = self.inner.new_service(());
        Box::pin(async move { Ok(BoundedService { connections, activities, inner: inner.await? }) })
    }
}

impl<S> Service<TcpStream> for BoundedService<S>
where
    S: Service<TcpStream, Response = ()>,
    S::Future: 'static,
    S::Error: 'static,
{
    type Response = ();
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<(), S::Error>>>>;

    fn poll_ready(&self, task: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(task)
    }

    fn call(&self, connection: TcpStream) -> Self::Future {
        let place = connection.peer_addr().ok().and_then(|peer| self.connections.admit(peer.ip()));
        let Some(place) = place else {
            tracing::debug!("a connection is refused: there are too many, in all or from its network");
            return Box::pin(std::future::ready(Ok(())));
        };
        let (entered, idle) = (self.activities.open(&connection), self.connections.0.limits.idle);
        let served = self.inner.call(connection);
        Box::pin(async move {
            let _place = place;
            until_idle(served, &entered.activity, idle).await
        })
    }
}

/// Time after which a connection is looked at in any case. actix sets the timer of a connection's end by a clock that it
/// updates twice a second; on a busy machine that timer can have elapsed when it is set, and actix then never wakes the
/// connection: it would stay open although its last response said `Connection: close`.
const POLLED_EVERY: Duration = Duration::from_secs(2);

/// Serves a connection until it ends or does nothing for a while.
async fn until_idle<E>(
    served: impl Future<Output = Result<(), E>>,
    activity: &Activity,
    idle: Duration,
) -> Result<(), E> {
    let mut served = pin!(served);
    while !activity.taken_over.get() {
        tokio::select! {
            ended = &mut served => return ended,
            () = tokio::time::sleep(idle.min(POLLED_EVERY)) => if activity.is_idle_for(idle) && !activity.taken_over.get() {
                return Ok(());
            },
        }
    }
    served.await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(most: usize, per_network: usize) -> Connections {
        let unlimited = vec!["127.0.0.0/8".parse().unwrap(), "192.0.2.0/24".parse().unwrap()];
        Connections::new(ConnectionLimits { most, per_network, unlimited, idle: Duration::from_secs(60) })
    }

    fn ip(address: &str) -> IpAddr {
        address.parse().unwrap()
    }

    #[test]
    fn a_network_has_so_many_connections_and_a_closed_one_leaves_its_place() {
        let connections = connections(100, 2);
        // Documentation networks of RFC 5737 and RFC 3849.
        let first = connections.admit(ip("198.51.100.1")).unwrap();
        let _second = connections.admit(ip("::ffff:198.51.100.1")).unwrap();
        assert!(connections.admit(ip("198.51.100.1")).is_none());
        let _other = connections.admit(ip("198.51.100.2")).unwrap();
        drop(first);
        let _again = connections.admit(ip("198.51.100.1")).unwrap();
        let _v6 = [connections.admit(ip("2001:db8::1")).unwrap(), connections.admit(ip("2001:db8::ffff:2")).unwrap()];
        assert!(connections.admit(ip("2001:db8::3")).is_none(), "one /64 network is one client");
        let _v6 = connections.admit(ip("2001:db8:0:1::1")).unwrap();
    }

    #[test]
    fn all_connections_are_bounded_and_proxies_are_bounded_by_nothing_else() {
        let connections = connections(5, 1);
        let places: Vec<_> = (0..5).map(|_| connections.admit(ip("192.0.2.7")).unwrap()).collect();
        assert!(connections.admit(ip("192.0.2.7")).is_none());
        assert!(connections.admit(ip("198.51.100.1")).is_none());
        assert_eq!(connections.open(), 5);
        drop(places);
        let _local: Vec<_> = (0..5).map(|_| connections.admit(ip("::ffff:127.0.0.1")).unwrap()).collect();
        assert_eq!(connections.open(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_request_ends_and_one_with_a_request_does_not() {
        let idle = Duration::from_secs(60);
        let begun = Instant::now();
        let activity = Rc::new(Activity::new());
        until_idle(std::future::pending::<Result<(), ()>>(), &activity, idle).await.unwrap();
        assert_eq!(begun.elapsed().as_secs(), 60);

        let begun = Instant::now();
        let activity = Rc::new(Activity::new());
        let busy = activity.begin(1).unwrap();
        assert!(activity.begin(1).is_none(), "one at a time");
        let work = async {
            // Virtual time; the timeout is expected to elapse.
            let _ = tokio::time::timeout(Duration::from_secs(600), std::future::pending::<()>()).await;
            drop(busy);
            std::future::pending::<Result<(), ()>>().await
        };
        until_idle(work, &activity, idle).await.unwrap();
        assert!((660..=720).contains(&begun.elapsed().as_secs()));
    }
}
