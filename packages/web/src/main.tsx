import { createRoot } from "react-dom/client";
import { App } from "./app/app.js";
import { applyTheme } from "./app/theme.js";
import { takeTokenFromAddress } from "./server/token.js";

applyTheme();
takeTokenFromAddress();
// This listener is added before that of the page, which reads the view from the URL.
addEventListener("hashchange", takeTokenFromAddress);
createRoot(document.getElementById("root") as HTMLElement).render(<App />);
