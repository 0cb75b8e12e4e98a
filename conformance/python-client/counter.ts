export { counter as default } from "../environments/counter.js";
