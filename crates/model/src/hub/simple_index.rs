//! Finds a wheel among the links of a package index page (PEP 503) or of a `find-links` place.
//! It parses text; it fetches nothing.

use url::Url;

/// A link to a wheel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WheelLink {
    /// Without the fragment; with the page's credentials where host and scheme are the page's.
    pub(super) url: Url,
    /// The file's name.
    pub(super) file_name: String,
    /// The SHA-256 that the page announces.
    pub(super) sha256: Option<String>,
}

/// The package's name as indexes spell it: lower case, each run of `-_.` one `-` (PEP 503).
pub(super) fn normalized_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '-' | '_' | '.' if out.ends_with('-') => {}
            '-' | '_' | '.' => out.push('-'),
            c => out.extend(c.to_lowercase()),
        }
    }
    out
}

/// Whether `file_name` is a wheel of exactly this package and version that any machine may use.
/// Wheels for one platform are left to pip, which knows the machine.
pub(super) fn is_universal_wheel(file_name: &str, name: &str, version: &str) -> bool {
    let Some(stem) = file_name.strip_suffix(".whl") else {
        return false;
    };
    let parts: Vec<&str> = stem.split('-').collect();
    // NAME-VERSION[-BUILD]-PYTHON-ABI-PLATFORM
    let tags = match parts.len() {
        5 => &parts[2..],
        6 => &parts[3..],
        _ => return false,
    };
    normalized_name(parts[0]) == normalized_name(name)
        && parts[1] == version
        && tags[0].split('.').any(|python| python.starts_with("py3"))
        && tags[1] == "none"
        && tags[2] == "any"
}

/// The first fitting wheel that the HTML page at `page_url` links to.
pub(super) fn find_wheel(
    page: &str,
    page_url: &Url,
    name: &str,
    version: &str,
) -> Option<WheelLink> {
    links(page).find_map(|href| {
        let mut url = page_url.join(&href).ok()?;
        let sha256 = url
            .fragment()
            .and_then(|fragment| fragment.strip_prefix("sha256="))
            .filter(|hash| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()))
            .map(str::to_ascii_lowercase);
        url.set_fragment(None);
        let last = url.path_segments()?.next_back()?;
        let file_name = String::from_utf8(super::fetch::percent_decoded(last)).ok()?;
        if !is_universal_wheel(&file_name, name, version) {
            return None;
        }
        if url.username().is_empty() && url.origin() == page_url.origin() {
            let _ = url.set_username(page_url.username());
            let _ = url.set_password(page_url.password());
        }
        Some(WheelLink {
            url,
            file_name,
            sha256,
        })
    })
}

/// The `href` of each `<a>`, entities undone.
fn links(page: &str) -> impl Iterator<Item = String> + '_ {
    page.split('<').filter_map(|piece| {
        let tag = piece.split('>').next()?;
        let mut words = tag.split_ascii_whitespace();
        if !words.next()?.eq_ignore_ascii_case("a") {
            return None;
        }
        let after = tag
            .split_once("href=")
            .or_else(|| tag.split_once("HREF="))?
            .1;
        let href = match after.as_bytes().first()? {
            b'"' => after[1..].split('"').next()?,
            b'\'' => after[1..].split('\'').next()?,
            _ => after.split_ascii_whitespace().next()?,
        };
        let undone = href
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&#43;", "+")
            .replace("&amp;", "&");
        Some(undone)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn finds_the_wheel_and_its_hash_among_other_links() {
        let page = format!(
            "<html><a href=\"my_model-1.0.tar.gz\">s</a>\n\
             <a href='../../files/my_model-1.0.1-py3-none-any.whl'>other</a>\
             <a data-requires-python=\"&gt;=3.8\" \
                href=\"../../files/my_model-1.0-py2.py3-none-any.whl?a=1&amp;b=2#sha256={HASH}\">x</a>"
        );
        let base = Url::parse("https://u:p@host/simple/my-model/").expect("url");
        let link = find_wheel(&page, &base, "My.Model", "1.0").expect("link");
        assert_eq!(
            link.url.as_str(),
            "https://u:p@host/files/my_model-1.0-py2.py3-none-any.whl?a=1&b=2"
        );
        assert_eq!(link.sha256.as_deref(), Some(HASH));
        assert_eq!(link.file_name, "my_model-1.0-py2.py3-none-any.whl");
        assert_eq!(find_wheel(&page, &base, "my-model", "2.0"), None);
    }

    #[test]
    fn credentials_do_not_travel_to_another_host() {
        let page = "<A HREF=https://cdn/m-1-py3-none-any.whl>m</A>";
        let base = Url::parse("https://u:p@host/simple/m/").expect("url");
        let link = find_wheel(page, &base, "m", "1").expect("link");
        assert_eq!(link.url.as_str(), "https://cdn/m-1-py3-none-any.whl");
        assert_eq!(link.sha256, None);
    }

    #[test]
    fn only_universal_wheels_count() {
        assert!(is_universal_wheel(
            "a_b-1.0-1-py3-none-any.whl",
            "a-b",
            "1.0"
        ));
        for other in [
            "a_b-1.0-cp311-cp311-linux_x86_64.whl",
            "a_b-1.0-py2-none-any.whl",
            "a_b-1.0.tar.gz",
            "a_b_c-1.0-py3-none-any.whl",
            "a_b-1.0.whl",
        ] {
            assert!(!is_universal_wheel(other, "a-b", "1.0"), "{other}");
        }
    }

    #[test]
    fn broken_pages_have_no_links() {
        for page in [
            "",
            "<a",
            "<a href=",
            "<a href=\"",
            "<a href=\"http://[\">",
            "é<a é",
        ] {
            let base = Url::parse("http://h/").expect("url");
            assert_eq!(find_wheel(page, &base, "m", "1"), None);
        }
    }
}
