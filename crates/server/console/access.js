// What the server has, and what the key in use may do here.

import { get } from "./api.js";

/**
 * @typedef {{
 *   key: string | null, model: string, version: string, takesDocuments: boolean, hasGuarantee: boolean, sources: string[],
 *   measures: boolean, showsStudies: boolean, keepsTraces: boolean, seesAll: boolean,
 *   may: (scope: string) => boolean, lacks: (scope: string, what: string) => string
 * }} Access
 */

/** Asks the server. @returns {Promise<Access>} */
export async function readAccess() {
  const [access, { paths, info }] = await Promise.all([get("/v1/ken/access"), get("/openapi.json")]);
  const { key, scopes, sources } = access;
  return {
    key,
    model: access.model,
    version: info.version,
    takesDocuments: access.takes_documents,
    hasGuarantee: access.has_guarantee,
    sources,
    measures: access.measures,
    showsStudies: access.shows_studies,
    keepsTraces: Object.hasOwn(paths, "/v1/ken/traces"),
    seesAll: access.corpora == null,
    may: (scope) => scopes.includes(scope),
    lacks: (scope, what) => `This key cannot ${what}: it has not the scope “${scope}”.`,
  };
}
