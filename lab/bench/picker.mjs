// What pi's session picker does before it can show a list, and for a query on
// it, in pi's own code: node picker.mjs PACKAGE [DIRECTORY [QUERY]]. With a
// directory, the list that the picker opens with: its sessions; without one, those
// of all directories. Prints the milliseconds that took, without the start of node
// and of pi, and the number of sessions.
import path from "node:path";
import { pathToFileURL } from "node:url";

const [dir, cwd, query] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(path.join(dir, "dist", file)));
const { SessionManager } = await load("index.js");
const { filterAndSortSessions } = await load("modes/interactive/components/session-selector-search.js");

const start = performance.now();
let sessions = await (cwd ? SessionManager.list(cwd) : SessionManager.listAll());
if (query) sessions = filterAndSortSessions(sessions, query, "relevance");
console.log(performance.now() - start, sessions.length);
