// Requests to this address. The password lives in this module alone: nothing is stored.

let password = "";

export class Failure extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export const usePassword = (text) => { password = text; };
export const hasPassword = () => password !== "";

/** Return the JSON of a request. `parameters` go into the address; null and "" are left out. */
export async function get(path, parameters = {}, signal = undefined) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = new URLSearchParams(given).toString();
  const headers = password ? { Authorization: `Bearer ${password}` } : {};
  const response = await fetch(query ? `${path}?${query}` : path, { headers, signal });
  const held = await response.json();
  if (!response.ok) throw new Failure(response.status, held.detail ?? response.statusText);
  return held;
}

/** Return the JSON of the answer to a body. */
export async function post(path, body) {
  const headers = { "Content-Type": "application/json", ...(password ? { Authorization: `Bearer ${password}` } : {}) };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  const held = await response.json();
  if (!response.ok) throw new Failure(response.status, held.detail ?? response.statusText);
  return held;
}

/** Return the answer of a request; null: it is refused with one of these statuses, such as 403: the key does not allow it. */
export async function allowed(asked, refused = [403]) {
  try {
    return await asked;
  } catch (error) {
    if (!refused.includes(error.status)) throw error;
    return null;
  }
}
