"""Labelled tasks put to a server, by one caller or many, in every form of request."""
