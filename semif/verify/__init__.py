"""An environment proved whole: made for the purpose, asked, changed, overloaded, and taken away again."""
