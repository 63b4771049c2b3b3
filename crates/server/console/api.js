// Talks to the server that the page is from, and to no other.

const KEY = "ken-key";

/** Keeps a key in this tab; an empty one forgets it. @param {string} key */
export function setKey(key) {
  if (key) sessionStorage.setItem(KEY, key);
  else sessionStorage.removeItem(KEY);
}

/** An error that the server answered with. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {{message?: string, code?: string}} error
   * @param {number | null} retryMs when to come back, in milliseconds
   */
  constructor(status, error, retryMs = null) {
    const again = retryMs == null ? "" : ` (again in ${Math.ceil(retryMs / 1000)} s)`;
    super(`${error.message ?? `the server answered with status ${status}`}${again}`);
    this.status = status;
    this.code = error.code ?? "unknown";
    this.retryMs = retryMs;
  }
}

/** @param {number} status @param {string} body @param {string | null} retryMs */
function refused(status, body, retryMs) {
  let error = {};
  try {
    error = JSON.parse(body).error ?? {};
  } catch {
    // Something between here and the server answered in its own words.
  }
  return new ApiError(status, error, retryMs == null ? null : Number(retryMs));
}

/** The address of a path of this server. @param {string} path */
function own(path) {
  const address = new URL(path, location.origin);
  if (address.origin !== location.origin) throw new Error("not an address of this server");
  return address;
}

/** @returns {Record<string, string>} */
function authorization() {
  const key = sessionStorage.getItem(KEY);
  return key ? { authorization: `Bearer ${key}` } : {};
}

/** What it means that no response came. @param {unknown} error */
function unreachable(error) {
  if (error instanceof DOMException && error.name === "AbortError") return error;
  return new ApiError(0, { message: "the server cannot be reached", code: "unreachable" });
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 */
async function send(method, path, body, signal) {
  const headers = authorization();
  if (body !== undefined) headers["content-type"] = "application/json";
  const request = fetch(own(path), {
    method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body),
    mode: "same-origin", credentials: "omit", redirect: "error", cache: "no-store",
  });
  const response = await request.catch((error) => Promise.reject(unreachable(error)));
  if (response.ok) return response;
  throw refused(response.status, await response.text(), response.headers.get("retry-after-ms"));
}

/** @param {string} path @param {AbortSignal} [signal] */
export const get = async (path, signal) => (await send("GET", path, undefined, signal)).json();
/** @param {string} path */
export const text = async (path) => (await send("GET", path)).text();
/** @param {string} path @param {unknown} body @param {AbortSignal} [signal] */
export const post = async (path, body, signal) => (await send("POST", path, body, signal)).json();
/** @param {string} path */
export const remove = async (path) => (await send("DELETE", path)).json();

/** A text as part of a path; slashes stay. @param {string} part */
export const escaped = (part) => part.split("/").map(encodeURIComponent).join("/");

/**
 * The data of each event of a stream, until its end.
 * @param {string} path
 * @param {unknown} body
 * @param {AbortSignal} signal
 */
export async function* stream(path, body, signal) {
  const response = await send("POST", path, body, signal);
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch((error) => Promise.reject(unreachable(error)));
    if (done) throw new ApiError(0, { message: "the answer was cut off", code: "cut_off" });
    const events = (rest + value).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      // Everything else is a comment, which keeps the connection open.
      if (!event.startsWith("data: ")) continue;
      const data = event.slice("data: ".length);
      if (data === "[DONE]") return;
      const parsed = JSON.parse(data);
      if (parsed.error) throw new ApiError(response.status, parsed.error);
      yield parsed;
    }
  }
}

/**
 * Sends files, and tells how far it is.
 * @param {string} path
 * @param {FormData} form
 * @param {(share: number) => void} progress from 0 to 1
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export function upload(path, form, progress, signal) {
  // `fetch` does not tell how much of a body is sent.
  const request = new XMLHttpRequest();
  return new Promise((resolve, reject) => {
    request.open("POST", own(path));
    for (const [name, value] of Object.entries(authorization())) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", (event) => progress(event.loaded / Math.max(1, event.total)));
    request.addEventListener("error", () => reject(unreachable(null)));
    request.addEventListener("abort", () => reject(new DOMException("cancelled", "AbortError")));
    request.addEventListener("load", () => {
      const { status, responseText } = request;
      if (status < 300) resolve(JSON.parse(responseText));
      else reject(refused(status, responseText, request.getResponseHeader("retry-after-ms")));
    });
    signal.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}
