export { strictCounter as default } from "../environments/counter.js";
