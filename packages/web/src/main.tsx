import { createRoot } from "react-dom/client";
import { App } from "./app/app.js";
import { applyTheme } from "./app/theme.js";
import { takeTokenFromAddress } from "./server/token.js";

applyTheme();
takeTokenFromAddress();
// Before the page reads which view the address names.
addEventListener("hashchange", takeTokenFromAddress);
createRoot(document.getElementById("root") as HTMLElement).render(<App />);
