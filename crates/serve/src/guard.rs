//! Checks requests: only this user's browser, on the viewer's own pages, is answered.
//!
//! Other users of the machine and other pages in the browser can reach a loopback port too. So every request needs a cookie that only
//! the address printed at the start sets; must name this machine as its host (a foreign name that resolves to it is DNS rebinding);
//! and must not come from another origin.
//!
//! A shared address has a token of its own, which ends after a time. It has a cookie of its own, so that opening it in the owner's browser
//! does not replace the owner's token.

use axum::http::header::{COOKIE, HeaderMap};
use axum::http::{Method, StatusCode};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;
use web::{Refused, Standing, same_token};

/// Checks requests.
pub(crate) struct Guard {
    token: String,
    shared: Option<Shared>,
    cookie: String,
    /// Whether other hosts may connect; they address this machine by its IP address.
    elsewhere: bool,
}

/// The token of a shared address.
struct Shared {
    token: String,
    /// When it ends, by [`now`].
    until: Duration,
}

/// Who sent a request, by its token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Who {
    /// The user who started the server.
    Owner,
    /// A user of the shared address, who may only read.
    Guest,
}

impl From<Who> for Standing {
    fn from(who: Who) -> Self {
        match who {
            Who::Guest => Self::Guest,
            Who::Owner => Self::Owner,
        }
    }
}

impl Who {
    /// Checks that a request may be made. No request changes anything now. A route that does must be one that a guest is refused here.
    pub(crate) fn may(self, method: &Method) -> Result<(), Refused> {
        match self {
            _ if method == Method::GET || method == Method::HEAD => Ok(()),
            Self::Guest => Err((StatusCode::FORBIDDEN, "the shared address allows only reading\n")),
            Self::Owner => Err((StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are allowed\n")),
        }
    }
}

/// Returns the time since this machine started. Unlike the clocks of the standard library, it includes the time for which the machine was
/// suspended and does not change with the date, so that a shared address ends when it was announced.
fn now() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

const EXPIRED: Refused =
    (StatusCode::FORBIDDEN, "this shared address has expired: ask for a new one from the person who shared it\n");
/// The refusal of a request without a token that this run knows.
pub(crate) const NO_TOKEN: Refused =
    (StatusCode::UNAUTHORIZED, "unauthorised: open the address that `corewise view` printed, including its token\n");

impl Guard {
    /// Creates a guard with a token of 128 random bits for this run, and another one for a shared address that ends after a time.
    pub(crate) fn new(port: u16, elsewhere: bool, share: Option<Duration>) -> Result<Self, String> {
        let until = |time| now().checked_add(time).unwrap_or(Duration::MAX);
        let shared = share.map(|time| Ok::<_, String>(Shared { token: random_token()?, until: until(time) }));
        // Cookies are shared by all ports of a host, so the name contains the port.
        Ok(Self { token: random_token()?, shared: shared.transpose()?, cookie: format!("corewise_{port}"), elsewhere })
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Returns the token of the shared address, if there is one.
    pub(crate) fn shared_token(&self) -> Option<&str> {
        self.shared.as_ref().map(|shared| shared.token.as_str())
    }

    /// Returns whose token this is.
    pub(crate) fn who(&self, token: &str) -> Result<Who, Refused> {
        // Both are compared, whichever it is, so that the time is the same.
        let is_owner = same_token(token, &self.token);
        let shared = self.shared.as_ref().filter(|shared| same_token(token, &shared.token));
        match shared {
            _ if is_owner => Ok(Who::Owner),
            Some(shared) if now() < shared.until => Ok(Who::Guest),
            Some(_) => Err(EXPIRED),
            None => Err(NO_TOKEN),
        }
    }

    /// Returns the header that makes the browser send a valid token from now on, from the viewer's own pages only. The browser keeps a
    /// guest's after its end, so that the server can say that it has expired.
    pub(crate) fn set_cookie(&self, who: Who) -> String {
        let token = match who {
            Who::Owner => &self.token,
            Who::Guest => self.shared_token().unwrap_or_default(),
        };
        format!("{}={token}; HttpOnly; SameSite=Strict; Path=/", self.cookie_name(who))
    }

    fn cookie_name(&self, who: Who) -> String {
        match who {
            Who::Owner => self.cookie.clone(),
            Who::Guest => format!("{}_shared", self.cookie),
        }
    }

    /// Checks that a request names this machine and comes from no other origin.
    pub(crate) fn place(&self, headers: &HeaderMap) -> Result<(), Refused> {
        web::check_place(headers, self.elsewhere)
    }

    /// Returns who sent a request, by its cookies: the owner, if the browser has the cookies of both.
    pub(crate) fn cookie(&self, headers: &HeaderMap) -> Result<Who, Refused> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|c| c.to_str().ok()).flat_map(|c| c.split(';'));
        let pairs = cookies.filter_map(|c| c.trim().split_once('='));
        let names = [Who::Owner, Who::Guest].map(|who| self.cookie_name(who));
        let mut best = Err(NO_TOKEN);
        for (_, token) in pairs.filter(|(name, _)| names.iter().any(|known| known == name)) {
            match (self.who(token), best) {
                (Ok(Who::Owner), _) => return Ok(Who::Owner),
                (Ok(Who::Guest), _) => best = Ok(Who::Guest),
                (Err(why), Err(NO_TOKEN)) => best = Err(why),
                (Err(_), _) => {}
            }
        }
        best
    }
}

/// Returns a token of 128 random bits.
fn random_token() -> Result<String, String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|why| format!("cannot get random numbers: {why}"))?;
    Ok(random.iter().map(|b| format!("{b:02x}")).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn tokens_differ_from_run_to_run() {
        let (one, other) = (Guard::new(1, false, None).unwrap(), Guard::new(1, false, None).unwrap());
        assert_eq!(one.who(one.token()), Ok(Who::Owner));
        for wrong in [other.token(), "", &one.token()[1..], &format!("{}0", one.token())] {
            assert_eq!(one.who(wrong), Err(NO_TOKEN), "{wrong}");
        }
        assert_eq!((one.token().len(), one.shared_token()), (32, None));
    }

    #[test]
    fn a_shared_token_is_a_guests_until_it_expires() {
        let guard = Guard::new(1, false, Some(Duration::from_secs(3600))).unwrap();
        let shared = guard.shared_token().unwrap();
        assert!(shared.len() == 32 && shared != guard.token());
        assert_eq!((guard.who(shared), guard.who(guard.token())), (Ok(Who::Guest), Ok(Who::Owner)));
        let ended = Guard::new(1, false, Some(Duration::ZERO)).unwrap();
        assert_eq!(ended.who(ended.shared_token().unwrap()), Err(EXPIRED));
        assert_eq!(ended.who(ended.token()), Ok(Who::Owner));
        // The longest time does not overflow.
        let longest = Guard::new(1, false, Some(Duration::MAX)).unwrap();
        assert_eq!(longest.who(longest.shared_token().unwrap()), Ok(Who::Guest));
    }

    #[test]
    fn of_several_cookies_the_owners_counts() {
        let guard = Guard::new(7, false, Some(Duration::ZERO)).unwrap();
        let who = |cookies: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, HeaderValue::from_str(cookies).unwrap());
            guard.cookie(&headers)
        };
        let (own, shared) = (guard.token(), guard.shared_token().unwrap());
        assert_eq!(who(&format!("corewise_7={own}; corewise_7_shared={shared}")), Ok(Who::Owner));
        assert_eq!(who(&format!("corewise_7_shared={shared}; corewise_7={own}")), Ok(Who::Owner));
        assert_eq!(who(&format!("corewise_7=0; corewise_7_shared={shared}")), Err(EXPIRED));
        assert_eq!(who(&format!("corewise_8={own}; other={own}")), Err(NO_TOKEN));
    }

    #[test]
    fn only_reading_is_allowed_and_a_guest_is_refused_everything_else() {
        for (method, owner, guest) in [
            (Method::GET, None, None),
            (Method::HEAD, None, None),
            (Method::POST, Some(StatusCode::METHOD_NOT_ALLOWED), Some(StatusCode::FORBIDDEN)),
            (Method::DELETE, Some(StatusCode::METHOD_NOT_ALLOWED), Some(StatusCode::FORBIDDEN)),
        ] {
            let code = |who: Who| who.may(&method).err().map(|refused| refused.0);
            assert_eq!((code(Who::Owner), code(Who::Guest)), (owner, guest), "{method}");
        }
    }
}
