"""From a question to tokens: the template, the labels of the options, the writer."""
