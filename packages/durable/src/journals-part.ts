export { holdJournal } from "./journals/open-journal.js";
export { isJournal, readJournal } from "./resume/read-journal.js";
